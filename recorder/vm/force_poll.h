// SPDX-License-Identifier: MIT
// force_poll: makes a Lua VM check its control word although its code never does. An interpreted
// loop that neither allocates nor calls C executes no poll; but every instruction goes through the
// dispatch table, and that is data. Its slots are redirected to the code that polls (lt_note.poll);
// the VM restores them when it gets there (LT_STOP_POLL). Invariant: slots are written only while
// every running thread of the process is stopped. A thread that sleeps in the kernel is left alone,
// or stopped where it does not notice: no system call is interrupted.
#pragma once

#include <string>
#include <vector>

#include "recorder/vm/target.h"

namespace luatrace::record::vm {

// Why a VM does not answer, as far as can be seen.
enum class NoResponseReason {
  kSleeps,     // no thread of the process runs
  kCompiled,   // it runs compiled code
  kForeign,    // it sleeps in a C function called by compiled code (FFI)
  kRecording,  // it is compiling
  kHandler,    // it runs a finalizer or a handler of VM events
  kStopped,    // the process is stopped (a signal, or a debugger)
  kRuns        // some code runs, perhaps not of this VM
};
NoResponseReason no_response_reason(const Target& target, const State& state);
const char* reason_text(NoResponseReason s);

// Makes those VMs poll. Empty, or why it could not be done. Takes about 0.1 ms; longer if the
// threads have to wait for a CPU.
std::string force_poll(const Target& target, const std::vector<State>& states);

// The same if nothing runs: code that runs after waking up may never poll, and be over before it is
// seen running. Does nothing if a thread would notice that it is stopped.
std::string force_poll_asleep(const Target& target, const std::vector<State>& states);

// Sets LT_STOP_REPORT of those VMs, which act on it at their next poll. No thread is stopped.
bool request_report(const Target& target, const std::vector<State>& states);

}  // namespace luatrace::record::vm
