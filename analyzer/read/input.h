// SPDX-License-Identifier: MIT
// The bytes of a trace from a file, a pipe or memory, seen through a window that moves forward.
//
// Input uses large reads into a buffer that stays in the cache, not mmap: the same code serves
// pipes, and a file that shrinks meanwhile causes a short read, not a SIGBUS.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/descriptor.h"
#include "trace/spool.h"

namespace luatrace::analyze {

// Called while an input is read, with the offset reached.
using Progress = std::function<void(uint64_t offset)>;

class Input {
 public:
  // "-" is standard input. Throws Unreadable (missing, a directory, permission denied ...).
  explicit Input(const std::string& path);
  // Reads from an open file, which stays the caller's.
  Input(std::string name, int file);
  // Reads from memory; `name` is for messages.
  Input(std::string name, std::vector<uint8_t> bytes);
  // Reads what was written to the spool.
  Input(std::string name, Spool spool);

  // Makes at least `size` bytes available at data(), or all that are left; returns available().
  // Invalidates pointers into the window. Throws Unreadable on a read error.
  size_t need(size_t size);
  const uint8_t* data() const { return buffer_->data() + begin_; }
  size_t available() const { return end_ - begin_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data()), available()}; }
  void consume(size_t size) {
    begin_ += size;
    offset_ += size;
  }

  // While a copy of the result exists, the current window stays valid, also in other threads.
  std::shared_ptr<const void> hold() const { return buffer_; }

  // Makes the input rewindable. An input that is not (a pipe) is read to its end into a spool; so
  // keep() must be called before anything is consumed. Throws Unreadable.
  void keep();
  // Moves to the beginning. Only for files and memory, or after keep(). Throws Unreadable.
  void rewind();

  uint64_t offset() const { return offset_; }        // Of data(), in the file.
  uint64_t size() const { return size_; }            // Of a regular file, else 0.
  const std::string& name() const { return name_; }  // For messages.
  // The path as given: "-" for standard input; for memory the name.
  std::string path() const { return fd_ == STDIN_FILENO && own_ < 0 ? "-" : name_; }

 private:
  std::string name_;
  int fd_ = -1;
  Descriptor own_;  // fd_, unless that is the caller's
  bool eof_ = false;
  int64_t start_ = -1;  // Initial file offset of fd_; -1: not seekable.
  using Buffer = std::vector<uint8_t>;
  void measure();
  void take(Spool spool);
  void take_free_buffer(size_t size);

  std::shared_ptr<Buffer> buffer_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  // buffer_, and others that were held.
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
};

}  // namespace luatrace::analyze
