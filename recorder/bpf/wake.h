// SPDX-License-Identifier: MIT
// Waker: makes the Lua VMs of a process check the semaphore that the kernel has raised, and reports
// why one does not. Why: an interpreted loop that neither allocates nor calls C never checks it;
// see vm/force_poll.h.
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

  // Only a VM that switches on reports its stack. This is for VMs that are on already, because
  // another tracer is attached or they have not yet noticed the end of a recording. Before
  // attaching: can they be asked to report again? If so, their earlier events have to be left out.
  // Otherwise waits up to 0.2 s until they are off (not for sleeping VMs).
  bool prepare();
  // Does a recorder take its events directly? Then it does not flush blocks.
  bool has_ring() const;
  // Tracers of blocks, according to the semaphores; 0 also if they cannot be read.
  uint32_t block_tracers() const;
  // Asks all VMs to begin again for a tracer of blocks that they cannot have noticed, or that has
  // missed something.
  void ask_all() const;
  //   After attaching: asks them.
  void ask();
  // Before attaching: gives library functions that the compiler inlines events, too (--c-functions
  // all), and restores their class later. Only the VM can do that, so its settings are changed,
  // unless a recorder has made settings of its own.
  void want_all_c();
  void restore_c();
  // Called from time to time: forces a poll of VMs that have not answered.
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
  std::vector<std::vector<vm::State>> on_;  // for each target: VMs that were on before
};

}  // namespace luatrace::record::bpf
