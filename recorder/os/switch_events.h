// SPDX-License-Identifier: MIT
// When the scheduler stopped and continued a thread of another process, by perf_event_open(2)
// (PERF_RECORD_SWITCH, Linux 4.3; without rights over the kernel: of one's own processes, with
// kernel.perf_event_paranoid up to 2).
// Invariant: the thread itself notices nothing; the kernel writes a record per switch into memory
// of ours, and counts what finds no space there.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/descriptor.h"

namespace luatrace::record {

struct SwitchEvent {
  enum Kind { kOut, kPreempted, kIn, kLost };  // kPreempted: out, but ready to run
  Kind kind;
  uint64_t ns;  // CLOCK_MONOTONIC
};

class SwitchEvents {
 public:
  // Null if it is not permitted, or the thread is gone: then *why says so.
  static std::unique_ptr<SwitchEvents> open(pid_t tid, std::string* why);
  ~SwitchEvents();
  SwitchEvents(const SwitchEvents&) = delete;
  SwitchEvents& operator=(const SwitchEvents&) = delete;

  // Moves what has come since the last call to the end of `out`, in order. If there was no space
  // for more, kLost is the last: the kernel says so only before the next that it has space for.
  void read(std::vector<SwitchEvent>& out);

 private:
  SwitchEvents(Descriptor fd, std::byte* memory) : fd_(std::move(fd)), memory_(memory) {}
  void copy(uint64_t at, void* to, size_t size) const;

  Descriptor fd_;
  std::byte* memory_;
};

}  // namespace luatrace::record
