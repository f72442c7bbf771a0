// SPDX-License-Identifier: MIT
// A trace that is still being recorded: a report of each interval of it.
//
// The stack machines sum up into a profile as in Pipeline; at the end of an interval the profile is
// reported and emptied, and the open calls are entered again. So each report has what happened in
// its interval: calls that began in it, time that passed in it, also of calls that began before it
// and of suspended coroutines. (Only durations of single calls, which are not shown, are whole.)
//
// Invariant: memory grows with the program's functions and open calls, and with the call paths of
// one interval (kMaxNodes), not with the trace.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/collect/profile.h"
#include "analyzer/machine/streams.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/report.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace::analyze {

// The counters of the time since they were `before`, which becomes `now`.
Trust take_trust(Trust& before, const Trust& now);

class LiveTrace {
 public:
  // Reads the header. `warn` as for Pipeline. Throws Unreadable, as step() does.
  LiveTrace(Input& input, const std::function<void(const std::string&)>& warn);
  ~LiveTrace();
  LiveTrace(const LiveTrace&) = delete;
  LiveTrace& operator=(const LiveTrace&) = delete;

  // Reads about a block. False at the end of the trace.
  bool step() { return reader_->step(); }
  // Returns what happened since the last call, up to the last event read. Its `trust` is of that
  // interval, too.
  Report interval();
  const Trust& trust() const { return diag_.trust; }  // Since the beginning.

 private:
  static constexpr uint64_t kMaxNodes = 1000000;

  TraceFacts facts_;
  std::optional<NodeBudget> budget_;
  Profile profile_;
  Diagnostics diag_;
  Streams<Profile> streams_;
  Symbolizer symbolizer_;
  std::unique_ptr<TraceReader> reader_;
  Trust before_;  // The counters at the end of the previous interval.
};

}  // namespace luatrace::analyze
