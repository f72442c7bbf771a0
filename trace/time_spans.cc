// SPDX-License-Identifier: MIT
#include "trace/time_spans.h"

#include <algorithm>
#include <iterator>

namespace luatrace {

void TimeSpans::add(uint64_t since, uint64_t until) {
  if (until <= since) return;
  auto at = spans_.upper_bound(since);
  if (at != spans_.begin() && std::prev(at)->second >= since) --at;
  while (at != spans_.end() && at->first <= until) {
    since = std::min(since, at->first);
    until = std::max(until, at->second);
    at = spans_.erase(at);
  }
  spans_.emplace_hint(at, since, until);
  if (spans_.size() > kMax) join_nearest();
}

void TimeSpans::close_gaps() {
  for (auto at = spans_.begin(); std::next(at) != spans_.end();) {
    const auto next = std::next(at);
    if (next->first - at->second > gap_) {
      at = next;
    } else {
      at->second = next->second;
      spans_.erase(next);
    }
  }
}

// Down to half of the maximum, so that it is not done for each span.
void TimeSpans::join_nearest() {
  close_gaps();
  while (spans_.size() > kMax / 2) {
    gap_ = std::max<uint64_t>(1, 2 * gap_);
    close_gaps();
  }
}

uint64_t TimeSpans::covered(uint64_t from, uint64_t to) const {
  uint64_t sum = 0;
  for (const auto& [since, until] : spans_) {
    const uint64_t begin = std::max(since, from), end = std::min(until, to);
    if (begin < end) sum += end - begin;
  }
  return sum;
}

}  // namespace luatrace
