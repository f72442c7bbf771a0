// SPDX-License-Identifier: MIT
// Waker: makes the Lua VMs of a process check the semaphore that the kernel has raised, and reports
// why one does not. Why: an interpreted loop that neither allocates nor calls C never checks it;
// see vm/force_poll.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/vm/attached.h"
#include "recorder/vm/lua_image.h"
#include "recorder/vm/target.h"

namespace luatrace::record::bpf {

class Waker {
 public:
  explicit Waker(pid_t pid);

  // Only a VM that switches on reports its stack. This is for VMs that are on already, because
  // another tracer is attached or they have not yet noticed the end of a recording. Before
  // attaching: can they be asked to report again? Otherwise waits up to 0.2 s until they are off
  // (not for sleeping VMs).
  bool prepare() const;
  // Does a recorder take its events directly? Then it does not flush blocks.
  bool has_ring() const;
  // Tracers of blocks, according to the semaphores; 0 also if they cannot be read.
  uint32_t block_tracers() const;
  // Asks all VMs to begin again for a tracer of blocks that they cannot have noticed, or that has
  // missed something.
  void request_restart() const;
  // Before attaching: gives library functions that the compiler inlines events, too (--c-functions
  // all), and restores their class later. Only the VM can do that, so its settings are changed,
  // unless a recorder has made settings of its own.
  void want_c(uint32_t cfuncs);
  void restore_c();
  // Before attaching, and if a VM flushes blocks with another clock: makes the VMs use that one
  // (LT_CLOCK_*) for their blocks. Refused if that would have to be written and cannot be.
  Attached want_clock(uint32_t clock);
  // After detaching: the previous one, unless another recorder of blocks is attached.
  void restore_clock() const;
  // Called from time to time: forces a poll of VMs that have not answered; wants the clock of a
  // LuaJIT that is loaded only now.
  void poll(uint64_t now_ns);
  // Why no event has come, as far as can be seen: the rest of a sentence about the process.
  std::string no_response_text() const;

 private:
  LuaSearch look();
  void settle() const;
  std::vector<vm::State> stale(const vm::Target& target) const;

  pid_t pid_;
  std::vector<vm::Target> targets_;
  uint64_t due_ns_, pause_ns_;
  bool done_ = false;
  uint32_t asked_c_ = LTC_NONE;
  uint32_t clock_ = 0;        // that want_clock() wants, 0: any
  bool asked_clock_ = false;  // it is not the usual one
};

}  // namespace luatrace::record::bpf
