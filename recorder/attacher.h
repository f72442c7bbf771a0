// SPDX-License-Identifier: MIT
// Attacher: which processes are attached, and when: those named by -p, their descendants
// (--children), every process (-a), those that a command's recording passes to it (--via bpf).
// Invariants: used by the session's thread; a process that cannot be attached yet is tried again at
// growing intervals, and so is a refused one of --children (it may execute another program);
// between two processes continues() is called, so that signals and -d are noticed.
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

// Of the processes that -a finds: not this recorder and its helpers, nor what runs no program.
bool is_wanted(pid_t pid);

class Attacher {
 public:
  // All must outlive this object. continues: does the recording continue?
  Attacher(const Options& options, Processes& processes, Outputs& outputs,
           std::function<bool()> continues);

  // The backend that attaches. Before all other calls except requested().
  void set_backend(Backend& backend) { backend_ = &backend; }
  // The requested processes, as far as they exist now.
  std::vector<pid_t> requested() const;
  // Attaches to the requested processes. True if there is something to record, or to wait for.
  bool start();
  // Attaches to the command, and to the processes that it starts.
  void follow_command(pid_t pid);
  // Attaches to a process that waits for our answer. Empty, or why not: the rest of a sentence.
  std::string attach_peer(const Peer& peer);

  // Called from time to time: looks for new processes. last: immediately, because all known ones
  // have ended.
  void follow_new_processes(bool last = false);
  void check(uint64_t now);
  // A descriptor that becomes readable when processes start; -1: none.
  int descriptor() const;
  // A process has ended.
  void end(Process& p);
  // Checks whether its outputs take more. True if none of them does.
  bool check_outputs();
  // Prints once that there is nothing to record yet. begin_ns: when the recording began.
  void warn_waiting(uint64_t now, uint64_t begin_ns);

  // When the first process was attached; 0: none was.
  uint64_t first_ns() const { return first_ns_; }
  // The first refusal of a requested process.
  Refusal refusal() const { return refusal_; }
  // At the end: what was missed, and why nothing was recorded.
  void log_end();

 private:
  void watch(pid_t pid, bool requested, int peer = -1);
  Attached attach_with_retries(pid_t pid);
  bool attach_to(Process& p);
  void set_attached(Process& p);
  void set_obstacle(Process& p, const std::string& why);
  bool may_retry(const Process& p) const;
  void forget(Process& p, Process::Attaching attaching);
  void follow_children();
  void suggest_children();
  void warn_workers();
  void take_process_events();
  void on_process(pid_t pid);
  void consider_unrelated(pid_t pid);
  bool is_followed(pid_t pid);
  void warn_missed_processes();
  void warn_none_attached() const;

  const Options& options_;
  Processes& processes_;
  Outputs& outputs_;
  std::function<bool()> continues_;
  Backend* backend_ = nullptr;
  std::unique_ptr<ProcessMonitor> monitor_;           // --children
  std::set<std::pair<uint64_t, uint64_t>> programs_;  // of attached processes, see program_of()
  bool events_missed_ = false;
  uint64_t ended_unseen_ = 0;  // descendants that had ended when they were reported
  size_t explained_ = 0;       // processes whose obstacle is kept
  uint64_t refused_ = 0;       // processes that were found by -a and cannot be attached
  bool logged_waiting_ = false, logged_workers_ = false;
  uint64_t first_ns_ = 0;
  Refusal refusal_ = Refusal::kNone;
};

}  // namespace luatrace::record
