// SPDX-License-Identifier: MIT
// Backend: a way of recording processes: a command's by the rings that they announce, others by
// attaching to them (--via). The session says when it begins and ends, and which processes are
// attached to (-p, --children); a backend attaches, keeps going, detaches.
// Invariants: all calls come from the session's thread, outputs are touched in jobs of the drainer
// only (BackendHost::drainer); after stop() no process does anything for us any more, or will not
// as soon as it runs next.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recorder/drain/drainer.h"
#include "recorder/drain/output.h"
#include "recorder/drain/ring_memory.h"
#include "recorder/vm/attached.h"

namespace luatrace::record {

// A process that a backend has to do with.
struct Peer {
  pid_t pid, ns_pid;  // as we see it, and as it sees itself
  uid_t uid;
  int socket;  // connected to it, or -1
};

// What became of a ring.
struct RingAnswer {
  enum Kind { kTaken, kRefused, kNotTaken } kind;  // kRefused: because of what it is
  std::string why;
};

// What the session does for a backend.
class BackendHost {
 public:
  virtual ~BackendHost() = default;
  virtual Drainer& drainer() = 0;
  // The output of that process, made if need be; nothing and why if it cannot be written.
  virtual std::shared_ptr<Output> output_of(pid_t pid, std::string& why) = 0;
  // The number of the process in its output; a new one, with its PROCESS block, if it is new or has
  // become another program (exec). 0 and why: its file takes nothing more.
  virtual uint32_t process_number(pid_t pid, std::string& why) = 0;
  // Drains a ring of that process.
  virtual RingAnswer add_ring(const Peer& peer, std::unique_ptr<RingMemory> ring) = 0;
  // It tells of C functions that are new: those of a library that was just loaded?
  virtual void has_c_functions(pid_t pid) = 0;
  // The first event of that process is there: how long after attaching, in ns.
  virtual void first_event(pid_t pid, uint64_t after_ns) = 0;
  // Something to be said, for -v.
  virtual void detail(const std::string& text) = 0;
  // A warning, unless it is that of a file which has ended: that was said.
  virtual void report(const std::string& text) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Called once, before the first attach(): starts the command, if there is one. The exit status of
  // luatrace-record if nothing can be done at all, and why. Without a command it takes 20 ms at
  // most.
  virtual Attached begin() { return {}; }
  // Can it be used here at all? Empty, or why not. May take 0.2 s. Before begin().
  virtual std::string able() { return ""; }
  // Could that process be attached to? Changes nothing. Before begin().
  virtual Attached look(pid_t pid) = 0;
  // Begins to record a process; of one that is recorded already, LuaJITs that it has mapped since.
  virtual Attached attach(pid_t pid) = 0;
  // Is it the copy (fork) of a process that is attached, with the marks of this recording in it?
  virtual bool inherited(pid_t) { return false; }
  // Is it attached, and still the program that it was? (After an exec: no.)
  virtual bool holds(pid_t pid) = 0;
  // The process has ended or become another program: its last events, then nothing.
  virtual void forget(pid_t pid) = 0;
  // Called every few milliseconds. Returns in how many it wants to be called again, at the latest.
  virtual int poll(uint64_t now_ns) = 0;
  // The recording ends: asks all processes to stop, does not wait.
  virtual void stop() = 0;
  // After stop(): is everything quiet? Called until it is true, or for a second.
  virtual bool stopped() = 0;
  // Why nothing can be recorded any more; empty: it can. Also when the recording has ended.
  virtual std::string broken() const { return ""; }
  // At the end: what the user should know (what was attached but did not answer, and why).
  virtual std::vector<std::string> remarks() { return {}; }
  // Is there nothing more to come but from processes that are followed?
  virtual bool ended() const { return true; }
  // The command while it runs; 0: none does.
  virtual pid_t command() const { return 0; }
  // The wait() status of the command when it has ended, 0 without one; -1: it runs still.
  virtual int wait_status() const { return 0; }
  // Descriptors that become readable when accept() has something to do.
  virtual void add_descriptors(std::vector<pollfd>&) const {}
  // Called at each turn of the loop: who wants to be recorded?
  virtual void accept() {}
  // Children of ours that have ended, with their wait() status; are there more?
  virtual void on_children(const std::vector<std::pair<pid_t, int>>& /*ended*/, bool /*more*/) {}
  // At the end: why nothing was recorded, if that is so. reason: LTQ_*.
  virtual std::vector<std::string> diagnosis(uint32_t /*reason*/) { return {}; }
  // The clock of its events: LT_CLOCK_*.
  virtual uint32_t clock() const = 0;
};

}  // namespace luatrace::record
