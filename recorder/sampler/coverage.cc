// SPDX-License-Identifier: MIT
#include "recorder/sampler/coverage.h"

#include <algorithm>
#include <cmath>

#include "recorder/os/clock.h"

namespace luatrace::record::sampler {

void Coverage::look(uint64_t cpu_ns) {
  seen_ns_ = std::max(seen_ns_, cpu_ns);
}

void Coverage::settle(uint64_t weight_ns) {
  if (seen_ns_ == last_ns_) return;
  last_ns_ = seen_ns_;
  weight_ns_ = weight_ns;
}

// The number of samples of a time varies by its square root, if the process runs now and then; four
// times that does not happen by chance. /proc counts in ticks, one at each end.
uint64_t Coverage::missing(uint64_t period_ns) const {
  constexpr double kTick = 10.0 * kMillisecond, kDeviations = 4, kPart = 0.05;
  const auto cpu = static_cast<double>(last_ns_ - first_ns_),
             period = static_cast<double>(period_ns);
  const double gap = cpu - static_cast<double>(weight_ns_);
  const double chance = std::max(kDeviations * std::sqrt(cpu / period) * period, kPart * cpu);
  return gap > chance + 2 * kTick ? static_cast<uint64_t>(gap / period) : 0;
}

}  // namespace luatrace::record::sampler
