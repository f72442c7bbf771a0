// SPDX-License-Identifier: MIT
// --waits: how long coroutines were suspended in each function, by its caller. A wait is the time
// from a yield to the resume after it; it belongs to the innermost call at the yield.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "analyzer/collect/histogram.h"
#include "analyzer/machine/functions.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

// A number of times, the shortest and the longest one, and how they are distributed.
struct Times {
  uint64_t count = 0;
  uint64_t min_ns = UINT64_MAX, max_ns = 0;
  std::map<uint32_t, uint64_t> buckets;  // Count by bucket_of(ns).

  void add(uint64_t ns);
  Times& operator+=(const Times& other);
  Distribution times() const;
};

struct WaitSums : Times {   // Of waits whose beginning and end were seen, ...
  uint64_t ticks = 0;       // ... and the sum of their times.
  uint64_t unfinished = 0;  // Waits without a resume, or partly outside the range.

  void add(uint64_t more_ticks, const Clock& clock);
  WaitSums& operator+=(const WaitSums& other);
};

// By function and caller (kNoFunction: none). Its size is bounded by the number of these pairs.
using WaitLog = std::map<std::pair<FunctionId, FunctionId>, WaitSums>;

}  // namespace luatrace::analyze
