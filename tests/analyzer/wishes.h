// SPDX-License-Identifier: MIT
// Random traces of several streams, undamaged and damaged ones; random queries of them (filters,
// groups, views); and the report. All of it depends on a seed only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// How many seeds a test tries: `usual`, or LUATRACE_SEEDS for a long run.
uint64_t seeds(uint64_t usual);

// Streams that share functions (with other ids and names, some of them called before they are
// described), with coroutines, errors and losses, and many events at one moment.
std::string random_trace(uint64_t seed, const std::string& clock = "mult=3 shift=1");
// The same in binary, with some bytes that are wrong or missing.
std::vector<uint8_t> damaged_trace(uint64_t seed, const std::string& clock = "mult=3 shift=1");

// What is requested: filters, groups, and the views that follow single calls.
struct Wish {
  FilterOptions filter;
  uint64_t from = 0, to = UINT64_MAX;  // Ticks.
  uint64_t over_ns = 0;                // --over
  bool wall = false;
  size_t limit = 0;  // Of slow calls and coroutines.
  // What gets single calls: all views, an observer that does nothing, or none.
  enum class Observer { kViews, kEmpty, kNone } observer = Observer::kViews;
  bool coroutines = false;  // The log of coroutines, whatever the observer.
};

// The filters of which there can be several, as bits: -F -N -C -H --function --kind -D -t --thread
// --vm --coroutine -r.
constexpr uint32_t kFilters = 12;
// With the filters of `which`. Names are those of random_trace().
Wish random_wish(uint64_t seed, uint32_t which);
// With any of them.
Wish random_wish(uint64_t seed);
std::string describe(const Wish& wish);

// The report of a trace with filters and all views of single calls, by so many threads (0: not
// parallel at all). Messages about the trace go to `messages`, if it is not null.
Report report_of(const std::vector<uint8_t>& bytes, const Wish& wish, size_t workers,
                 std::string* messages = nullptr);

}  // namespace luatrace::analyze
