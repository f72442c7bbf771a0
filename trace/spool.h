// SPDX-License-Identifier: MIT
// Spool: bytes that are written sequentially and then read once. Few bytes stay in memory, more go
// to an unnamed temporary file: a small spool costs no system call, a large one no memory.
//
// Invariant: the bytes are all in memory, or all in the file.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/descriptor.h"

namespace luatrace {

class Spool {
 public:
  static constexpr size_t kMemory = 8u << 20;

  // memory: beyond this many bytes they go to a file.
  explicit Spool(size_t memory = kMemory) : memory_(memory) {}

  // Like writev(2): the number of bytes taken; -1: none, see errno. The file is created in $TMPDIR
  // or /tmp or, if that is impossible, in memory that may be swapped (memfd_create).
  ssize_t append(const iovec* parts, int count);

  // The bytes, if they are in memory (else empty). Once.
  std::vector<uint8_t> take_memory() { return std::move(bytes_); }
  // The file, positioned at its beginning; -1: all is in memory. Once.
  Descriptor take_file();

 private:
  bool spill();

  size_t memory_;
  std::vector<uint8_t> bytes_;
  Descriptor fd_;
};

}  // namespace luatrace
