// SPDX-License-Identifier: MIT
// Writes structs in thrift's compact protocol: the subset of which Parquet's metadata consists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/output/columns/encodings.h"
#include "base/leb128.h"

namespace luatrace::analyze {

// A struct being written. Fields must come in the order of their numbers, which are those of
// parquet.thrift and at most 15 apart.
class ThriftStruct {
 public:
  ThriftStruct& i32(int field, int64_t value) { return head(field, 5).zigzag(value); }
  ThriftStruct& i64(int field, int64_t value) { return head(field, 6).zigzag(value); }
  ThriftStruct& text(int field, std::string_view value) { return head(field, 8).bytes(value); }
  ThriftStruct& child(int field, const ThriftStruct& value) {
    head(field, 12).bytes_ += value.whole();
    return *this;
  }
  ThriftStruct& i32s(int field, const std::vector<int>& values) {
    list(field, 5, values.size());
    for (const int value : values) zigzag(value);
    return *this;
  }
  ThriftStruct& texts(int field, const std::vector<std::string>& values) {
    list(field, 8, values.size());
    for (const std::string& value : values) bytes(value);
    return *this;
  }
  // Structs, each from whole().
  ThriftStruct& children(int field, const std::vector<std::string>& values) {
    list(field, 12, values.size());
    for (const std::string& value : values) bytes_ += value;
    return *this;
  }

  std::string whole() const { return bytes_ + '\0'; }

 private:
  ThriftStruct& head(int field, int type) {
    bytes_ += static_cast<char>((field - last_) << 4 | type);
    last_ = field;
    return *this;
  }
  void list(int field, int type, size_t size) {
    head(field, 9);
    bytes_ += static_cast<char>((size < 15 ? size : 15) << 4 | static_cast<size_t>(type));
    if (size >= 15) put_leb128(bytes_, size);
  }
  ThriftStruct& zigzag(int64_t value) {
    put_zigzag(bytes_, value);
    return *this;
  }
  ThriftStruct& bytes(std::string_view value) {
    put_leb128(bytes_, value.size());
    bytes_ += value;
    return *this;
  }

  std::string bytes_;
  int last_ = 0;
};

}  // namespace luatrace::analyze
