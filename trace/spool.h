// SPDX-License-Identifier: MIT
// Spool: bytes that are written front to back and then read once. They are in memory as long as
// they are few, then in a temporary file that nobody sees: what is small costs no system call, what
// is large no memory.
//
// Invariant: the bytes are all in one place, in memory or (from the first one on) in the file.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace luatrace {

class Spool {
 public:
  static constexpr size_t kMemory = 8u << 20;

  // memory: from so many bytes on they go to a file.
  explicit Spool(size_t memory = kMemory) : memory_(memory) {}
  ~Spool();
  Spool(Spool&& other) noexcept;
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // As writev(2): how many bytes were taken; -1: none, errno says why. The file is made in $TMPDIR
  // or /tmp, or, if that cannot be, in memory that may be swapped (memfd_create).
  ssize_t append(const iovec* parts, int count);

  // What was written, if it is in memory (else empty); once.
  std::vector<uint8_t> take_memory() { return std::move(bytes_); }
  // The file, read from its beginning, for the caller to close; -1: all is in memory. Once.
  int take_file();

 private:
  bool spill();

  size_t memory_;
  std::vector<uint8_t> bytes_;
  int fd_ = -1;
};

}  // namespace luatrace
