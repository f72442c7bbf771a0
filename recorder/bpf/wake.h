// SPDX-License-Identifier: MIT
// Waker: makes the Lua states of a process look at the semaphore that the kernel has raised, and
// says why one does not.
// Why: an interpreted loop that neither allocates nor calls C never looks; see direct/kick.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/direct/kick.h"
#include "recorder/direct/target.h"

namespace luatrace::bpf {

class Waker {
 public:
  explicit Waker(pid_t pid);

  // Before attaching: lets states that have not yet noticed the end of an earlier recording notice
  // it, since only a state that has switched off reports its stack when it switches on. Waits at
  // most 0.2 s, and not for states that sleep.
  void settle() const;
  // Now and then: kicks states that have not answered.
  void tend(uint64_t now_ns);
  // Why no event has come, as far as can be seen: the rest of a sentence about the process.
  std::string silence() const;

 private:
  std::vector<direct::State> stale(const direct::Target& target) const;
  bool answered(const direct::Target& target, const direct::State& state) const;

  pid_t pid_;
  std::vector<direct::Target> targets_;
  uint64_t due_ns_, pause_ns_;
  bool done_ = false;
};

}  // namespace luatrace::bpf
