// SPDX-License-Identifier: MIT
// Signals: what asks the recorder to end (SIGINT, SIGTERM, and SIGHUP unless it is ignored, as
// nohup has it), heard at any moment. Invariant: after the second signal this process ends within
// kLeaveMs, whatever its other threads wait for. What it was attached to is then let go of by the
// kernel (BPF), by the guardian, and by the sweeper: as after kill -9.
//
// A thread of its own reads them: the session's may be in the middle of something that takes time
// (attaching to many processes, a file system that does not answer).
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace luatrace::record {

struct HeardSignal {
  int number;
  bool from_kernel;  // from a terminal: the command has got it, too
};

class Signals {
 public:
  static constexpr int kLeaveMs = 500;

  // Blocks them and SIGCHLD in the calling thread, and in those that are made later; so before any
  // other thread. Throws std::runtime_error.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Becomes readable when a signal was heard or a child has changed; take() makes them silent.
  int heard_fd() const { return heard_fd_; }
  int child_fd() const { return child_fd_; }
  // What was heard since it was last asked, in order. Does not wait.
  std::vector<HeardSignal> take();

 private:
  void listen();
  bool read_one();

  int signal_fd_ = -1, child_fd_ = -1, heard_fd_ = -1, stop_fd_ = -1;
  std::mutex mutex_;
  std::vector<HeardSignal> heard_;  // with the lock
  size_t count_ = 0;                // the thread's
  int last_ = 0;
  std::thread thread_;
};

}  // namespace luatrace::record
