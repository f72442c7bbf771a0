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

  // Now and then: kicks states that have not answered.
  void tend(uint64_t now_ns);
  // Why no event has come, as far as can be seen: the rest of a sentence about the process.
  std::string silence() const;

 private:
  bool answered(const direct::Target& target, const direct::State& state) const;

  pid_t pid_;
  std::vector<direct::Target> targets_;
  uint64_t due_ns_, pause_ns_;
  bool done_ = false;
};

}  // namespace luatrace::bpf
