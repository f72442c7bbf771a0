// SPDX-License-Identifier: MIT
// Backend: a method of recording processes: running a command, whose VMs send their rings, or
// attaching (--via). The session begins and ends it, and names the processes to attach to (-p,
// --children). Invariants: all calls come from the session's thread; outputs are touched only in
// jobs of the drainer (BackendHost::drainer); after stop() no process does anything for the
// recording any more, at the latest when it next runs.
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
#include "recorder/drain/ring.h"
#include "recorder/vm/attached.h"

namespace luatrace::record {

// A process that a backend deals with.
struct Peer {
  pid_t pid, ns_pid;  // in our namespace, and in its own
  uid_t uid;
  int socket;  // connected to it, or -1
};

// What happened to a ring.
struct RingAnswer {
  enum Kind { kTaken, kRefused, kNotTaken } kind;  // kRefused: it is invalid
  std::string why;
};

// The services of the session for a backend.
class BackendHost {
 public:
  virtual ~BackendHost() = default;
  virtual Drainer& drainer() = 0;
  // The output of that process, created if necessary; null and the reason if it cannot be written.
  virtual std::shared_ptr<Output> output_of(pid_t pid, std::string& why) = 0;
  // The number of the process in its output; a new one, with its PROCESS block, if it is new or has
  // executed another program. 0 and the reason: its file takes nothing more.
  virtual uint32_t process_number(pid_t pid, std::string& why) = 0;
  // Is a ring of that process being drained, or was one, whatever program it ran then?
  virtual bool has_streams(pid_t pid) = 0;
  // Drains a ring of that process. One that is not taken is detached.
  virtual RingAnswer add_ring(const Peer& peer, std::unique_ptr<RingMemory> ring) = 0;
  // The process reports new C functions: perhaps those of a library that was just loaded.
  virtual void has_c_functions(pid_t pid) = 0;
  // The first event of that process has arrived; after_ns: how long after attaching.
  virtual void first_event(pid_t pid, uint64_t after_ns) = 0;
  // No event came from that process, and why: a warning, but only a message for -v with --children,
  // once other processes have events (a server's master does no Lua work), and with -q if a message
  // about the processes that do the work takes its place.
  virtual void silent(pid_t pid, const std::string& text) = 0;
  // A message for -v.
  virtual void detail(const std::string& text) = 0;
  // A warning, unless it is about a file that has ended: that was reported already.
  virtual void report(const std::string& text) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Called once, before the first attach(): starts the command, if there is one. Returns the exit
  // status of luatrace-record and the reason if nothing can be done. Without a command it takes up
  // to 20 ms.
  virtual Attached begin() { return {}; }
  // Can it be used here at all? Empty, or the reason. May take 0.2 s. Before begin().
  virtual std::string able() { return ""; }
  // Could that process be attached? Changes nothing. Before begin().
  virtual Attached check(pid_t pid) = 0;
  // Begins to record a process; if it is recorded already, LuaJITs that it has mapped since.
  virtual Attached attach(pid_t pid) = 0;
  // Is it the copy (fork) of an attached process, with this recording's settings in it?
  virtual bool inherited(pid_t) { return false; }
  // Is it attached, and still the same program? (After an exec: no.)
  virtual bool holds(pid_t pid) = 0;
  // The process has ended or executed another program: takes its last events, then forgets it.
  virtual void forget(pid_t pid) = 0;
  // Called every few milliseconds. Returns the time in ms until the next call, at the latest.
  virtual int poll(uint64_t now_ns) = 0;
  // The recording ends: asks all processes to stop, does not wait.
  virtual void stop() = 0;
  // After stop(): have all processes stopped? Called until it is true, or for a second.
  virtual bool stopped() = 0;
  // Why recording has become impossible; empty: it has not. Also valid after the end.
  virtual std::string broken() const { return ""; }
  // At the end: messages for the user (processes that were attached but did not answer, and why).
  virtual std::vector<std::string> remarks() { return {}; }
  // Will events come only from processes that are followed?
  virtual bool ended() const { return true; }
  // The command while it runs; 0: none.
  virtual pid_t command() const { return 0; }
  // The wait() status of the command when it has ended; -1: it still runs, or there is none.
  virtual int wait_status() const { return -1; }
  // Descriptors that become readable when accept() has something to do.
  virtual void add_descriptors(std::vector<pollfd>&) const {}
  // Called in each iteration of the loop: accepts processes that connect.
  virtual void accept() {}
  // Our children that have ended, with their wait() statuses; may there be more?
  virtual void on_children(const std::vector<std::pair<pid_t, int>>& /*ended*/, bool /*more*/) {}
  // Has the recorded program asked for the end of the recording?
  virtual bool asked_to_stop() const { return false; }
  // This program ends with that exit status; all files are complete.
  virtual void on_exit(int /*status*/) {}
  // At the end: why nothing was recorded, if so. reason: LTQ_*.
  virtual std::vector<std::string> diagnosis(uint32_t /*reason*/) { return {}; }
  // The clock of its events: LT_CLOCK_*.
  virtual uint32_t clock() const = 0;
};

}  // namespace luatrace::record
