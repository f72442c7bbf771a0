// SPDX-License-Identifier: MIT
// Conversion of floating-point values computed from a trace to integers, defined for every input.
#pragma once

#include <cstdint>

namespace luatrace {

// Rounds down; returns 0 for a negative value or NaN, 2^64-1 for a value of 2^64 or more.
inline uint64_t saturate_u64(double value) {
  if (!(value > 0)) return 0;
  return value < 18446744073709551616.0 ? static_cast<uint64_t>(value) : UINT64_MAX;
}

}  // namespace luatrace
