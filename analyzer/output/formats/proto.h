// SPDX-License-Identifier: MIT
// Writes protocol buffers: the subset of the proto3 wire format that pprof and Perfetto need.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace luatrace::analyze {

// A message being written. Fields appear in the order of the calls; field numbers are those of the
// .proto file.
class ProtoMessage {
 public:
  void integer(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void fixed64(uint32_t field, uint64_t value) {
    varint(field << 3 | 1);
    for (int i = 0; i < 8; i++) bytes_ += static_cast<char>(value >> 8 * i);
  }
  void text(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(uint32_t field, const ProtoMessage& value) { text(field, value.bytes_); }
  // A packed repeated field.
  void integers(uint32_t field, std::span<const uint64_t> values) {
    ProtoMessage packed;
    for (uint64_t value : values) packed.varint(value);
    message(field, packed);
  }

  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace luatrace::analyze
