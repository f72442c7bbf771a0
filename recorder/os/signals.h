// SPDX-License-Identifier: MIT
// Signals: requests to end (SIGINT, SIGTERM, and SIGHUP unless it is ignored, as under nohup),
// handled at any moment. Invariant: after the second signal this process ends within kLeaveMs,
// whatever its other threads wait for. The kernel (BPF), the guardian and luatrace-listen then
// detach the processes, as after kill -9.
//
// A thread of its own reads the signals, because the session's may be busy with something that
// takes time (attaching to many processes, a file system that does not answer).
#pragma once

#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/descriptor.h"

namespace luatrace::record {

struct ReceivedSignal {
  int number;
  bool from_kernel;  // from a terminal: the command has received it, too
};

class Signals {
 public:
  static constexpr int kLeaveMs = 500;

  // snapshots: SIGUSR1, too, which does not ask for the end. Otherwise it does nothing, as SIGUSR2:
  // one that was meant for another process must not cost the recording.
  // Blocks them and SIGCHLD in the calling thread, and in those created later; so create it before
  // any other thread. Throws std::runtime_error.
  explicit Signals(bool snapshots = false);
  ~Signals();

  // Becomes readable when a signal has arrived or a child has changed; take() clears it.
  int event_fd() const { return event_fd_; }
  int child_fd() const { return child_fd_; }
  // The signals since the last call, in order. Does not wait.
  std::vector<ReceivedSignal> take();

 private:
  void listen();
  bool read_one();

  Descriptor signal_fd_, child_fd_, event_fd_, stop_fd_;
  std::mutex mutex_;
  std::vector<ReceivedSignal> received_;  // protected by the lock
  size_t count_ = 0;                      // used by the thread only
  int last_ = 0;
  std::thread thread_;
};

}  // namespace luatrace::record
