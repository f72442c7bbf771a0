// SPDX-License-Identifier: MIT
// Attacher: which processes are attached to, and when: those that -p names, their descendants
// (--children), those that a command's recording hands to it (--via bpf).
// Invariants: used by the session's thread; a process that cannot be attached to yet is tried again
// at growing intervals, one that was refused is not; between two processes goes_on() is asked, so
// that signals and -d are heard.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"
#include "recorder/os/process_monitor.h"
#include "recorder/processes.h"

namespace luatrace::record {

// "process 4711 (name of its program)".
std::string process_text(pid_t pid);

class Attacher {
 public:
  // All must live longer. goes_on: does the recording still go on?
  Attacher(const Options& options, Processes& processes, Outputs& outputs,
           std::function<bool()> goes_on);

  // What attaches. Before everything else but asked_for().
  void set_backend(Backend& backend) { backend_ = &backend; }
  // The processes that are asked for, as far as they are there now.
  std::vector<pid_t> asked_for() const;
  // Attaches to what was asked for. True if there is something to record, or to wait for.
  bool start();
  // A process that waits for our answer. Empty, or the rest of a sentence about it.
  std::string attach_announced(const Peer& peer);

  // Now and then. births: what has begun meanwhile; last: all that we know of have ended; what have
  // they left behind?
  void follow_new_processes(bool last = false);
  void check(uint64_t now);
  // A descriptor that becomes readable when processes begin; -1: none.
  int descriptor() const;
  // A process has ended.
  void end(Process& p);
  // Its outputs take nothing more. True if that holds for all.
  bool check_outputs();
  // Says once that there is nothing yet. begin_ns: when the recording began.
  void say_waiting(uint64_t now, uint64_t begin_ns);

  // When the first process was attached to; 0: none was.
  uint64_t first_ns() const { return first_ns_; }
  // The first refusal of a process that was asked for.
  Refusal refusal() const { return refusal_; }
  // At the end: what was missed, and why nothing was recorded.
  void say_end();

 private:
  void watch(pid_t pid, bool asked, int peer = -1);
  Attached attach_steadily(pid_t pid);
  bool attach_to(Process& p);
  void set_attached(Process& p);
  void set_obstacle(Process& p, const std::string& why);
  size_t obstacles() const;
  bool may_retry(const Process& p) const;
  void forget(Process& p, Process::Attaching attaching);
  void follow_children();
  void take_process_events();
  void on_process(pid_t pid);
  void consider_unrelated(pid_t pid);
  bool is_followed(pid_t pid);
  void warn_missed_processes();
  void say_none_attached() const;

  const Options& options_;
  Processes& processes_;
  Outputs& outputs_;
  std::function<bool()> goes_on_;
  Backend* backend_ = nullptr;
  std::unique_ptr<ProcessMonitor> monitor_;           // --children
  std::set<std::pair<uint64_t, uint64_t>> programs_;  // that were attached to, see program_of()
  bool events_missed_ = false;
  uint64_t ended_unseen_ = 0;  // descendants that were gone when we heard of their birth
  size_t explained_ = 0;       // processes of which it is kept why they are not recorded
  bool said_waiting_ = false;
  uint64_t first_ns_ = 0;
  Refusal refusal_ = Refusal::kNone;
};

}  // namespace luatrace::record
