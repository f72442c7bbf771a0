// SPDX-License-Identifier: MIT
// force_poll: makes a Lua state look at its control word although its code never does.
// An interpreted loop that neither allocates nor calls C executes no poll; but every instruction
// goes through the dispatch table, and that is data. Its slots are sent to the code that polls
// (lt_note.poll); the VM restores them when it gets there (LT_STOP_KICK).
// Invariant: slots are written only while every thread of the process that was running is stopped.
// A thread that sleeps in the kernel is left alone, or stopped where it does not notice: no system
// call is interrupted.
#pragma once

#include <string>
#include <vector>

#include "recorder/os/stopped.h"
#include "recorder/vm/target.h"

namespace luatrace::record::vm {

// Why a state does not answer, as far as can be seen.
enum class NoResponseReason {
  kSleeps,     // no thread of the process runs
  kCompiled,   // it runs compiled code
  kForeign,    // it sleeps in a C function that compiled code has called (FFI)
  kRecording,  // its compiler is at work
  kHandler,    // it runs a finalizer or a handler of the VM's events
  kStopped,    // the process is stopped (a signal, or a debugger)
  kRuns        // something runs, perhaps not this state
};
NoResponseReason no_response_reason(const Target& target, const State& state);
const char* reason_text(NoResponseReason s);

// Makes those states poll. Empty, or why it could not be done. Takes about 0.1 ms; longer if
// the threads have to wait for a CPU.
std::string force_poll(const Target& target, const std::vector<State>& states);

// The same if nothing runs: what it does when it wakes up may poll never, and be over before it is
// seen running. Does nothing if a thread would notice that it is stopped.
std::string force_poll_asleep(const Target& target, const std::vector<State>& states);

// Sets LT_STOP_RETELL of those states: they act upon it at their next poll. No thread is stopped.
bool retell(const Target& target, const std::vector<State>& states);

}  // namespace luatrace::record::vm
