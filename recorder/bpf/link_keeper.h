// SPDX-License-Identifier: MIT
// LinkKeeper: a process of ours that makes, holds and closes the links to probes. The kernel cannot
// restore a breakpoint, nor lower a semaphore, in a process on behalf of one that is being killed
// (it gives up its work on other memory): a recorder killed while it attached or detached left both
// in the program for good. So this is done by a process that is not killed, and closes everything
// when the recorder is gone. Invariants: it only serves requests, and ends with the recorder; it
// makes only system calls, because it is forked while threads exist; waitpid(-1) does not report
// it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/descriptor.h"

namespace luatrace::record::bpf {

// How sites are attached. kMulti (Linux 6.6) needs fewer capabilities than kEach, a perf event.
enum class Mechanism { kMulti, kEach };

class LinkKeeper {
 public:
  struct Site {
    int program;  // descriptor of the BPF program
    uint64_t offset, semaphore, cookie;
    // A second place for the same link, kMulti only; 0: none. Closing a link takes time, closing a
    // place of it does not.
    uint64_t offset2 = 0, semaphore2 = 0;
  };
  static constexpr size_t kMaxLinks = 16384;

  // answer_ms: how long it waits for an answer until it sends SIGCONT to the process and tries
  // again, `tries` times in all.
  explicit LinkKeeper(int answer_ms = 2000, int tries = 5) : answer_ms_(answer_ms), tries_(tries) {}
  ~LinkKeeper();  // closes all links, and waits up to 5 s for that

  // programs: descriptors of all BPF programs that will be used. 0, or errno.
  int start(const std::vector<int>& programs);
  // Attaches the program to this site of a file in a process. path: absolute; below /proc/self it
  // refers to this process. Returns the number of the link, or -errno.
  int attach(Mechanism mechanism, const std::string& path, const Site& site, pid_t pid);
  // Returns when the kernel has detached it.
  void close_link(int number);
  pid_t pid() const { return pid_; }
  // It was killed: nothing is attached any more.
  bool has_ended() const;

 private:
  struct Request;
  struct Answer;
  static void serve(int socket);
  bool send_request(Request& request);
  void wake() const;
  int call(Request& request);
  int make(Request& request);

  const int answer_ms_, tries_;
  Descriptor socket_, pidfd_;
  pid_t pid_ = -1;
  uint64_t sequence_ = 0;   // of the last request
  std::vector<bool> used_;  // numbers of links
};

}  // namespace luatrace::record::bpf
