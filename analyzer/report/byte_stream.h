// SPDX-License-Identifier: MIT
// Encodes numbers and strings for saved profiles: numbers in LEB128 (7 bits per byte, low bits
// first, top bit set if more bytes follow), strings prefixed with their length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace luatrace::analyze {

class ByteWriter {
 public:
  void number(uint64_t n) {
    for (; n >= 0x80; n >>= 7) bytes_ += static_cast<char>(n | 0x80);
    bytes_ += static_cast<char>(n);
  }
  // A signed number, zigzag-encoded.
  void integer(int64_t n) {
    number(static_cast<uint64_t>(n) << 1 ^ static_cast<uint64_t>(n >> 63));
  }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Decodes untrusted bytes: throws Short if they end too soon or a number exceeds 64 bits.
class ByteReader {
 public:
  struct Short {};
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  uint64_t number() {
    uint64_t n = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<uint8_t>(bytes_[0]);
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      n |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return n;
    }
    throw Short();
  }
  int64_t integer() {
    const uint64_t n = number();
    return static_cast<int64_t>(n >> 1 ^ (0 - (n & 1)));
  }
  std::string text() { return std::string(part_bytes()); }
  ByteReader part() { return ByteReader(part_bytes()); }
  // The number of elements that follow. Each takes at least one byte, so a number greater than the
  // remaining bytes throws Short.
  size_t count() {
    const uint64_t n = number();
    if (n > bytes_.size()) throw Short();
    return n;
  }

 private:
  std::string_view part_bytes() {
    const uint64_t size = number();
    if (size > bytes_.size()) throw Short();
    std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  std::string_view bytes_;
};

}  // namespace luatrace::analyze
