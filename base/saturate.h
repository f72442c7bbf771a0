// SPDX-License-Identifier: MIT
// Whole numbers made from real ones that depend on a trace: whatever is in it, the result is
// defined.
#pragma once

#include <cstdint>

namespace luatrace {

// Rounded down; 0 for what is below (or no number), 2^64-1 for what is above.
inline uint64_t saturate_u64(double value) {
  if (!(value > 0)) return 0;
  return value < 18446744073709551616.0 ? static_cast<uint64_t>(value) : UINT64_MAX;
}

}  // namespace luatrace
