// SPDX-License-Identifier: MIT
// Writes protocol buffers: the subset of the proto3 wire format that pprof and Perfetto need.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/leb128.h"

namespace luatrace::analyze {

// A message being written. Fields appear in the order of the calls, which return the message; field
// numbers are those of the .proto file.
class ProtoMessage {
 public:
  ProtoMessage& integer(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  ProtoMessage& fixed64(uint32_t field, uint64_t value) {
    varint(field << 3 | 1);
    for (int i = 0; i < 8; i++) bytes_ += static_cast<char>(value >> 8 * i);
    return *this;
  }
  ProtoMessage& text(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(uint32_t field, const ProtoMessage& value) {
    return text(field, value.bytes_);
  }
  // A packed repeated field.
  ProtoMessage& integers(uint32_t field, std::span<const uint64_t> values) {
    ProtoMessage packed;
    for (uint64_t value : values) packed.varint(value);
    return message(field, packed);
  }

  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void varint(uint64_t value) { put_leb128(bytes_, value); }
  std::string bytes_;
};

}  // namespace luatrace::analyze
