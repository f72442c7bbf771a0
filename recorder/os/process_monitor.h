// SPDX-License-Identifier: MIT
// ProcessMonitor: processes that begin while we record, reported by the kernel (its process events
// connector) where it may tell us, else found by looking at all processes. Invariants: with
// has_kernel_events(), every fork and exec since the constructor is in take(), in an order in which
// no child comes before its parent, or take() says that some are missing. Without it,
// new_processes() names every process once that lives at two of our looks or is there at one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

namespace luatrace::record {

struct ProcessEvent {
  enum Kind { kFork, kExec } kind;
  pid_t pid;
  pid_t parent;  // kFork
};

class ProcessMonitor {
 public:
  ProcessMonitor();
  ~ProcessMonitor();
  ProcessMonitor(const ProcessMonitor&) = delete;
  ProcessMonitor& operator=(const ProcessMonitor&) = delete;

  bool has_kernel_events() const { return socket_ >= 0; }
  int descriptor() const { return socket_; }  // readable when there is news; -1: none
  // Appends what has happened since the last call. False: some of it is missing.
  bool take(std::vector<ProcessEvent>& events);
  // Processes that were not there at the last call, by a look at all of /proc; nothing if the last
  // one was a moment ago (50 ms, or 50 times what a look takes) and it is not urgent.
  std::vector<pid_t> new_processes(uint64_t now_ns, bool urgent);

 private:
  bool listen();

  int socket_;
  std::set<pid_t> known_;
  uint64_t look_due_ns_ = 0;
};

}  // namespace luatrace::record
