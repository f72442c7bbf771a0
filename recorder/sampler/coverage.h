// SPDX-License-Identifier: MIT
// Coverage: are there as many samples of a process as its CPU time asks for? The kernel's timer
// skips periods without a word where interrupts take long or the host takes the processor, and is
// throttled at high rates (perf_swevent_hrtimer(), __perf_event_account_interrupt() in
// kernel/events/core.c). Invariant: what chance may do is not taken for a loss.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace luatrace::record::sampler {

class Coverage {
 public:
  // Follows a process from now on; cpu_ns: its CPU time so far.
  explicit Coverage(uint64_t cpu_ns) : first_ns_(cpu_ns), seen_ns_(cpu_ns), last_ns_(cpu_ns) {}

  // Its CPU time now (0, or less than before: not known, it has ended). settle() must follow once
  // its samples up to now were taken, with what they weigh in all.
  void look(uint64_t cpu_ns);
  void settle(uint64_t weight_ns);

  // Samples that are missing, at one for each `period_ns` of CPU time.
  uint64_t missing(uint64_t period_ns) const;

 private:
  uint64_t first_ns_, seen_ns_;  // CPU time: at the beginning, at the last look
  uint64_t last_ns_;             // at the last look that was settled
  uint64_t weight_ns_ = 0;       // of the samples up to then
};

}  // namespace luatrace::record::sampler
