// SPDX-License-Identifier: MIT
// Bytes of a trace, from a file, a pipe or memory, through one window that moves forward.
//
// Large reads into a buffer that stays in the cache, not mmap: the same code serves pipes, and a
// file that shrinks meanwhile is a short read, not a SIGBUS.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/spool.h"

namespace luatrace::analyze {

class Input {
 public:
  // "-" is standard input. Throws Unreadable (missing, directory, no permission, ...).
  explicit Input(const std::string& path);
  // The bytes themselves; `name` is for messages.
  Input(std::string name, std::vector<uint8_t> bytes);
  // What was written to the spool.
  Input(std::string name, Spool spool);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Makes at least `size` bytes available at data() unless the input ends before; returns
  // available(). Pointers into the window become invalid. Throws Unreadable on a read error.
  size_t need(size_t size);
  const uint8_t* data() const { return buffer_->data() + begin_; }
  size_t available() const { return end_ - begin_; }
  void consume(size_t size) {
    begin_ += size;
    offset_ += size;
  }

  // While a copy of this lives, so does what is in the window now, also in other threads.
  std::shared_ptr<const void> hold() const { return buffer_; }

  // Makes it one that can be read again. What cannot be (a pipe) is read to its end and kept in a
  // temporary file; so it is to be called before anything is consumed. Throws Unreadable.
  void keep();
  // To the beginning; it can be read again: a file, or memory, or it was kept.
  void rewind();

  uint64_t offset() const { return offset_; }        // Of data() in the file.
  uint64_t size() const { return size_; }            // Of a regular file, else 0.
  const std::string& name() const { return name_; }  // For messages.
  // As it was given: "-" for standard input; of memory the name.
  std::string path() const { return fd_ == STDIN_FILENO && !owned_ ? "-" : name_; }

 private:
  std::string name_;
  int fd_ = -1;
  bool owned_ = false;
  bool eof_ = false;
  int64_t start_ = -1;  // Offset in the file that fd_ began with; -1: it cannot be set.
  using Buffer = std::vector<uint8_t>;
  void measure();
  void take(Spool spool);
  void take_free_buffer(size_t size);

  std::shared_ptr<Buffer> buffer_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  // All; but for buffer_ those that were held.
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
};

}  // namespace luatrace::analyze
