// SPDX-License-Identifier: MIT
// Unsigned LEB128, the encoding of numbers in the page's data: seven bits per byte, the lowest
// first, the top bit set in all bytes but the last.
#pragma once

#include <cstdint>
#include <vector>

namespace luatrace {

inline void put_leb128(std::vector<uint8_t>& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

}  // namespace luatrace
