// SPDX-License-Identifier: MIT
// Backend: a way of recording processes that run already (--via). The session says which processes
// (-p, --children) and when it begins and ends; a backend attaches, keeps going, lets go.
// Invariants: all calls come from the session's thread, outputs are touched in jobs of the drainer
// only (BackendHost::drainer); after stop() no process does anything for us any more, or will not
// as soon as it runs next.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recorder/drain/drainer.h"
#include "recorder/drain/output.h"
#include "recorder/drain/ring_memory.h"
#include "recorder/vm/attached.h"

namespace luatrace::record {

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
  // Drains a ring of that process. Empty, or why not.
  virtual std::string add_ring(pid_t pid, std::unique_ptr<RingMemory> ring) = 0;
  // It tells of C functions that are new: those of a library that was just loaded?
  virtual void has_c_functions(pid_t pid) = 0;
  // The first event of that process is there: how long after attaching, in ns.
  virtual void first_event(pid_t pid, uint64_t after_ns) = 0;
  // Something to be said, for -v.
  virtual void detail(const std::string& text) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Called once, before the first attach(); empty, or why nothing at all can be done. May take 20
  // ms.
  virtual std::string begin() { return ""; }
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
  virtual int tend(uint64_t now_ns) = 0;
  // The recording ends: asks all processes to stop, does not wait.
  virtual void stop() = 0;
  // After stop(): is everything quiet? Called until it is true, or for a second.
  virtual bool stopped() = 0;
  // At the end: what the user should know (what was attached but did not answer, and why).
  virtual std::vector<std::string> remarks() { return {}; }
  // The clock of its events: LT_CLOCK_*.
  virtual uint32_t clock() const = 0;
};

}  // namespace luatrace::record
