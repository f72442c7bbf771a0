// SPDX-License-Identifier: MIT
// Random traces of several streams, sound and damaged ones; what can be asked of them: filters,
// groups, views; and the answer. All of it is of a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// How many random things a test tries: LUATRACE_SEEDS makes it more, for a long run.
uint64_t seeds(uint64_t usual);

// Streams that share functions (with other ids and names, some of them called before they are
// described), with coroutines, errors and losses, and many events at one moment.
std::string random_trace(uint64_t seed, const std::string& clock = "mult=3 shift=1");
// The same in binary, with some bytes that are wrong or missing.
std::vector<uint8_t> damaged_trace(uint64_t seed, const std::string& clock = "mult=3 shift=1");

// What is asked for: filters, groups, and the views that follow single calls.
struct Wish {
  FilterOptions filter;
  uint64_t from = 0, to = UINT64_MAX;  // Ticks.
  uint64_t least_ns = 0;               // --over
  bool wall = false;
  size_t most = 0;  // Slow calls and coroutines.
  // Who is told of single calls: all views, an observer that makes nothing of it, or nobody.
  enum class Told { kViews, kCalls, kNothing } told = Told::kViews;
};

// The filters of which there can be several, as bits: -F -N -C -H --function --kind -D -t --thread
// --state --coroutine -r.
constexpr uint32_t kFilters = 12;
// With the filters of `which`. Names are those of random_trace().
Wish random_wish(uint64_t seed, uint32_t which);
// With any of them.
Wish random_wish(uint64_t seed);
std::string describe(const Wish& wish);

// The report of a trace with filters and all that follows single calls, by so many threads (0: not
// at all parallel). Messages about the trace go to `messages`, if it is not null.
Report report_of(const std::vector<uint8_t>& bytes, const Wish& wish, size_t workers,
                 std::string* messages = nullptr);

}  // namespace luatrace::analyze
