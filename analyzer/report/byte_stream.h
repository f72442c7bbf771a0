// SPDX-License-Identifier: MIT
// Encodes numbers and strings for saved profiles: numbers in LEB128, strings prefixed with their
// length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/leb128.h"

namespace luatrace::analyze {

class ByteWriter {
 public:
  void number(uint64_t n) { put_leb128(bytes_, n); }
  // A signed number, zigzag-encoded.
  void integer(int64_t n) {
    number(static_cast<uint64_t>(n) << 1 ^ static_cast<uint64_t>(n >> 63));
  }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  // The number of elements, and what `write` writes of each.
  template <class List, class Write>
  void list(const List& list, Write write) {
    number(list.size());
    for (const auto& item : list) write(item);
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
  template <class T>
  void number(T& n) {
    n = static_cast<T>(number());
  }
  template <class T>
  void integer(T& out) {
    const uint64_t n = number();
    out = static_cast<T>(n >> 1 ^ (0 - (n & 1)));
  }
  void text(std::string& out) { out = part_bytes(); }
  template <class List, class Read>
  void list(List& list, Read read) {
    for (size_t n = count(); n > 0; n--) read(list.emplace_back());
  }
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
