// SPDX-License-Identifier: MIT
// A sampled trace that is still being recorded: a report of each interval of it (live.h has that of
// events).
//
// Invariant: memory grows with the program's functions, and with the call paths of one interval
// (kMaxNodes), not with the trace.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/collect/sampled_profile.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/report.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace::analyze {

class LiveSamples {
 public:
  // Reads the header. `warn` as for Pipeline. Throws Unreadable, as step() does.
  LiveSamples(Input& input, const std::function<void(const std::string&)>& warn);
  ~LiveSamples();
  LiveSamples(const LiveSamples&) = delete;
  LiveSamples& operator=(const LiveSamples&) = delete;

  // Reads about a block. False at the end of the trace.
  bool step() { return reader_->step(); }
  // Returns the samples since the last call, with their numbers by function. Its `trust` is of that
  // interval, too.
  Report interval();
  const Trust& trust() const { return diag_.trust; }  // Since the beginning.

 private:
  static constexpr uint64_t kMaxNodes = 1000000;

  const FilterOptions options_;  // None.
  FilterPlan plan_;
  TraceFacts facts_;
  Diagnostics diag_;
  std::optional<NodeBudget> budget_;
  Symbolizer symbolizer_;
  const SymbolFinder finder_;
  SampledProfile profile_;
  std::unique_ptr<TraceReader> reader_;
  Trust before_;  // The counters at the end of the previous interval.
};

}  // namespace luatrace::analyze
