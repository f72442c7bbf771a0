// SPDX-License-Identifier: MIT
// Unsigned LEB128, the encoding of numbers in the page's data, saved profiles and protocol buffers:
// seven bits per byte, the lowest first, the top bit set in all bytes but the last.
#pragma once

#include <cstdint>

namespace luatrace {

// Appends to a string or a vector of bytes.
template <class Bytes>
void put_leb128(Bytes& bytes, uint64_t value) {
  using Byte = typename Bytes::value_type;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<Byte>(value | 0x80));
  bytes.push_back(static_cast<Byte>(value));
}

}  // namespace luatrace
