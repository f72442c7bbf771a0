// SPDX-License-Identifier: MIT
// A binary trace in memory whose fields are all under the caller's control. Unlike TraceWriter it
// can write invalid sequence numbers, counts and clocks, for the text form and for tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "luatrace_format.h"

namespace luatrace::analyze {

class TraceImage {
 public:
  // Fills in magic, version and size where they are 0, and the checksum.
  explicit TraceImage(lt_file_header header);
  // Appends a block; fills in sync, sizes and checksums.
  void add(lt_block block, std::span<const std::byte> payload);
  std::vector<uint8_t> take() { return std::move(bytes_); }
  uint64_t blocks() const { return blocks_; }

 private:
  void append(const void* data, size_t size);
  std::vector<uint8_t> bytes_;
  uint64_t blocks_ = 0;
};

}  // namespace luatrace::analyze
