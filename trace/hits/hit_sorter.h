// SPDX-License-Identifier: MIT
// HitSorter: sorts hits of several CPUs by time.
//
// Each CPU's hits arrive in order, and the CPUs' buffers are drained in turn: the disorder is as
// long as one turn. So hits are collected; when there are enough, they are sorted, and all but the
// youngest (one window) are passed on. Usually they are in order already, and checking that is
// cheap.
//
// Invariant: the output is ordered by (time, thread, seq), then by arrival; a hit that would break
// the order is refused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/hits/hit.h"

namespace luatrace {

class HitSorter {
 public:
  HitSorter(uint64_t window_ns, uint32_t window_hits)
      : window_ns_(window_ns), window_hits_(std::max(window_hits, 1u)) {}

  // False: the hit is older than one that was passed on.
  bool add(const Hit& hit) {
    if (hit.time < passed_) return false;
    youngest_ = std::max(youngest_, hit.time);
    ordered_ = ordered_ && (hits_.empty() || !before(hit, hits_.back()));
    hits_.push_back(hit);
    return true;
  }

  // Are there enough hits to drain()?
  bool full() const {
    return hits_.size() >= window_hits_ + size_t{window_hits_} / 2 || long_enough();
  }

  // Passes on all hits up to `until`, and those that exceed the window; each together with the hits
  // known to follow it.
  template <class F>
  void drain(uint64_t until, F give) {
    if (!ordered_) std::stable_sort(hits_.begin(), hits_.end(), before);
    ordered_ = true;
    size_t n = hits_.size() > window_hits_ ? hits_.size() - window_hits_ : 0;
    while (n < hits_.size() && hits_[n].time <= until) n++;
    for (size_t i = 0; i < n; i++) give(hits_[i], std::span<const Hit>(hits_).subspan(i + 1));
    if (n > 0) passed_ = std::max(passed_, hits_[n - 1].time);
    hits_.erase(hits_.begin(), hits_.begin() + static_cast<ptrdiff_t>(n));
  }
  // All hits up to this time may be passed on.
  uint64_t settled() const { return youngest_ > window_ns_ ? youngest_ - window_ns_ : 0; }
  uint64_t youngest() const { return youngest_; }

 private:
  // One and a half windows, but only if moving the rest costs less than sorting.
  bool long_enough() const {
    return hits_.size() >= kFew && youngest_ - hits_.front().time > window_ns_ / 2 + window_ns_;
  }
  static bool before(const Hit& a, const Hit& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.tid != b.tid) return a.tid < b.tid;
    return a.seq < b.seq;  // not modulo 2^32: sorting needs a total order
  }

  static constexpr size_t kFew = 65536;
  uint64_t window_ns_;
  uint32_t window_hits_;
  std::vector<Hit> hits_;
  bool ordered_ = true;
  uint64_t youngest_ = 0;
  uint64_t passed_ = 0;  // no older hit is accepted
};

}  // namespace luatrace
