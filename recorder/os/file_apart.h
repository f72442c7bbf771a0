// SPDX-License-Identifier: MIT
// FileApart: a file that may never answer (run_apart.h), opened and read by a helper process, which
// only copies bytes; they are interpreted on this side. Invariants: nothing here waits longer than
// the limits; the helper makes only system calls, because it is forked while threads exist: one of
// them may hold a lock of the C library (malloc's), which nobody would release in the copy.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "recorder/os/elf_file.h"
#include "recorder/os/maps.h"
#include "trace/descriptor.h"

namespace luatrace::record {

class FileApart {
 public:
  struct Limits {
    int answer_ms;  // for each answer
    int all_ms;     // for all of them
  };
  // For a file of a process that is recorded.
  static constexpr Limits kUsual = {200, 2000};

  // open: opens the file and returns its descriptor, or -1; runs in the other process, and may make
  // only system calls. m: identifies the file system. One that does not answer is not asked again.
  FileApart(const Mapping& m, const std::function<int()>& open, Limits limits = kUsual);
  ~FileApart();

  // It could be asked, and has answered every request so far.
  bool answers() const { return answers_; }
  bool is_open() const { return is_open_; }
  uint64_t size() const { return size_; }
  mode_t mode() const { return mode_; }
  // Valid during this object's lifetime.
  ReadAt reader();

 private:
  struct Opened;
  struct Request;
  struct Answer;
  static void serve(int socket, const std::function<int()>& open);
  bool read(uint64_t at, void* to, size_t size);
  size_t receive(void* to, size_t size);

  const Mapping& mapping_;
  const int answer_ms_;
  const uint64_t until_ns_;
  Descriptor socket_;
  pid_t pid_ = -1;
  bool answers_ = false, is_open_ = false;
  uint64_t size_ = 0;
  mode_t mode_ = 0;
};

}  // namespace luatrace::record
