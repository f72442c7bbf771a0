// SPDX-License-Identifier: MIT
// FileClock; see attached.h.
#include "recorder/bpf/attached.h"

namespace luatrace::record::bpf {

uint64_t FileClock::at(uint64_t ns) const {
  if (clock_ == LT_CLOCK_MONOTONIC) return ns;
  if (!rate_) rate_ = rate_between(clock_, start_, sample_clocks(clock_));
  const int64_t apart = static_cast<int64_t>(ns - start_.mono_ns);
  if (apart < 0) return start_.tick - ns_to_ticks(*rate_, static_cast<uint64_t>(-apart));
  return start_.tick + ns_to_ticks(*rate_, static_cast<uint64_t>(apart));
}

}  // namespace luatrace::record::bpf
