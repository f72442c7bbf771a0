// SPDX-License-Identifier: MIT
// Waker: makes the Lua states of a process look at the semaphore that the kernel has raised, and
// says why one does not.
// Why: an interpreted loop that neither allocates nor calls C never looks; see vm/force_poll.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/vm/force_poll.h"
#include "recorder/vm/target.h"

namespace luatrace::record::bpf {

class Waker {
 public:
  explicit Waker(pid_t pid);

  // Only a state that switches on reports its stack. States that are on already, because another
  // tracer is attached or they have not yet noticed the end of a recording:
  //   Before attaching: may they be asked to report anew? If so, what they tell before that is to
  //   be left out. Else waits, at most 0.2 s and not for states that sleep, until they are off.
  bool prepare();
  // Does a recorder take its events directly? Then it does not hand over blocks.
  bool has_ring() const;
  // Tracers of blocks, as the semaphores say; 0 also if they cannot be read.
  uint32_t block_tracers() const;
  // Asks all states to begin again for a tracer of blocks that they cannot have noticed, or that
  // has missed something.
  void ask_all() const;
  //   After attaching: asks them.
  void ask();
  // Before attaching: lets library functions that the compiler inlines have events, too
  // (--c-functions all); their own class again. Only the VM can do that, so it is asked to, unless
  // a recorder has made settings of its own.
  void want_all_c();
  void restore_c();
  // Now and then: forces states that have not answered.
  void poll(uint64_t now_ns);
  // Why no event has come, as far as can be seen: the rest of a sentence about the process.
  std::string no_response_text() const;

 private:
  void settle() const;
  std::vector<vm::State> stale(const vm::Target& target) const;
  bool answered(const vm::Target& target, const vm::State& state) const;

  pid_t pid_;
  std::vector<vm::Target> targets_;
  uint64_t due_ns_, pause_ns_;
  bool done_ = false;
  bool asked_c_ = false;
  std::vector<std::vector<vm::State>> on_;  // for each target: states that were on before
};

}  // namespace luatrace::record::bpf
