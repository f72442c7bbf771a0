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
#include <span>
#include <string>
#include <vector>

namespace luatrace::record::bpf {

class LinkKeeper {
 public:
  struct Site {
    int program;  // descriptor of the BPF program
    uint64_t offset, semaphore, cookie;
  };
  static constexpr size_t kMaxSites = 16, kMaxLinks = 16384;

  LinkKeeper() = default;
  ~LinkKeeper();  // closes all links, and waits up to 5 s for that
  LinkKeeper(const LinkKeeper&) = delete;
  LinkKeeper& operator=(const LinkKeeper&) = delete;

  // programs: descriptors of all BPF programs that will be used. 0, or errno.
  int start(const std::vector<int>& programs);
  // Attaches one program (that of the first site) to all these sites of a file in a process, by one
  // link (Linux 6.6). path: absolute; below /proc/self it refers to this process. Returns the
  // number of the link, or -errno.
  int attach_multi(const std::string& path, std::span<const Site> sites, pid_t pid);
  // The same for one site, by a perf event.
  int attach_each(const std::string& path, const Site& site, pid_t pid);
  // Returns when the kernel has detached it.
  void close_link(int number);
  // It was killed: nothing is attached any more.
  bool has_ended() const;

 private:
  struct Request;
  struct Answer;
  static void serve(int socket);
  bool tell(Request& request);
  int ask(Request& request);
  int make(Request& request);
  int attach(Request& request, const std::string& path, std::span<const Site> sites, pid_t pid);

  int socket_ = -1, pidfd_ = -1;
  pid_t pid_ = -1;
  uint64_t sequence_ = 0;   // of the last request
  std::vector<bool> used_;  // numbers of links
};

}  // namespace luatrace::record::bpf
