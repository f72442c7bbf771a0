// SPDX-License-Identifier: MIT
// ReadingTime: how long functions of one process may be read from its memory, so that a process
// with ever new ones does not stop the samples of others. Invariants: it is CPU time of this
// thread, since waiting for a processor says nothing about the work; waiting for pages counts for a
// part of that. What was used comes back as time passes, not at the end of a batch of
// samples: after a pause of the recorder a batch may be long.
#pragma once

#include <algorithm>
#include <cstdint>

#include "recorder/os/clock.h"

namespace luatrace::record::sampler {

class ReadingTime {
 public:
  void begin() {
    begin_ns_ = monotonic_ns();
    begin_cpu_ns_ = thread_cpu_ns();
    begin_waits_ = thread_waits();
    left_ns_ = std::min(left_ns_ + (begin_ns_ - end_ns_) / kShare, kMost);
  }
  void end() {
    left_ns_ -= std::min(left_ns_, used());
    end_ns_ = monotonic_ns();
  }
  // Between begin() and end().
  bool is_over() const { return used() > left_ns_; }

 private:
  static constexpr uint64_t kMost = 50 * kMillisecond;
  static constexpr uint64_t kShare = 10, kWaiting = 20;
  uint64_t used() const {
    const uint64_t cpu = thread_cpu_ns() - begin_cpu_ns_;
    const uint64_t waiting = (monotonic_ns() - begin_ns_) / kWaiting;
    return waiting > cpu && thread_waits() != begin_waits_ ? waiting : cpu;
  }

  uint64_t left_ns_ = kMost, begin_ns_ = 0, begin_cpu_ns_ = 0, begin_waits_ = 0, end_ns_ = 0;
};

}  // namespace luatrace::record::sampler
