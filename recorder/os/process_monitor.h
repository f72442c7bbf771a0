// SPDX-License-Identifier: MIT
// ProcessMonitor: new processes during the recording, reported by the kernel (its process events
// connector) where possible, otherwise found by scanning all processes. Invariants: with
// has_kernel_events(), take() returns every fork and exec since the constructor, some at a time, in
// an order in which no child comes before its parent, or reports that some are missing. Without it,
// new_processes() returns every process once that exists during two of our scans, or is seen by
// one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

#include "trace/descriptor.h"

namespace luatrace::record {

struct ProcessEvent {
  enum Kind { kFork, kExec } kind;
  pid_t pid;
  pid_t parent;  // kFork
};

class ProcessMonitor {
 public:
  ProcessMonitor();

  bool has_kernel_events() const { return socket_ >= 0; }
  int descriptor() const { return socket_; }  // readable when there are events; -1: none
  // Appends the events since the last call, up to a number of messages: other users' processes must
  // not occupy us. False: some are missing.
  bool take(std::vector<ProcessEvent>& events);
  // Did the last take() leave some for the next?
  bool has_more() const { return has_more_; }
  // Processes that did not exist at the last call, by a scan of /proc; nothing if the last one was
  // just before (50 ms, or 50 times the duration of a scan) and it is not urgent.
  std::vector<pid_t> new_processes(uint64_t now_ns, bool urgent);

 private:
  bool listen();

  Descriptor socket_;
  bool has_more_ = false;
  std::set<pid_t> known_;
  uint64_t look_due_ns_ = 0;
};

}  // namespace luatrace::record
