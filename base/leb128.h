// SPDX-License-Identifier: MIT
// Numbers as the page's data has them: seven bits a byte, the lowest first, the top bit set on all
// but the last (unsigned LEB128).
#pragma once

#include <cstdint>
#include <vector>

namespace luatrace {

inline void put_leb128(std::vector<uint8_t>& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

}  // namespace luatrace
