// SPDX-License-Identifier: MIT
// From trace files to a report: all that a program needs which analyses traces itself.
//
//   PipelineOptions options;
//   options.filter.only = {"handle"};
//   Pipeline pipeline(options, [](const std::string& text) { std::cerr << text << '\n'; });
//   pipeline.read("trace.bin");
//   const Report report = pipeline.finish();
//   for (const ReportFunction& f : report.functions)
//     std::cout << display_name(f) << ' ' << f.self_ns << '\n';
//
// Each file is read up to three times: for what must be known before its first event is shown
// (filter/preview.h), for calls that -t and -C leave out (collect/verdict_pass.h), and for the
// rest, by the sink that is just rich enough for what was asked for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/collect/call_consumer.h"
#include "analyzer/collect/observers.h"
#include "analyzer/filter/filter.h"
#include "analyzer/filter/preview.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/report.h"
#include "analyzer/report/signature_check.h"
#include "analyzer/report/unmatched_filters.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace::analyze {

struct PipelineOptions {
  FilterOptions filter;
  // What is collected beside functions and the call tree.
  bool histograms = false;
  bool coroutines = false;
  CoroutineLog::By coroutine_order = CoroutineLog::By::kSuspended;
  size_t coroutine_limit = 20;  // Kept in that order; 0: all.
  bool threads = false;
  bool timeline = false;
  std::vector<std::string> slow;  // Single calls of these functions (patterns) that took ...
  uint64_t slow_over_ns = 0;      // ... longer, ...
  bool slow_by_wall = false;      // ... by wall time instead of running time; ...
  size_t slow_limit = 5;          // ... the longest ones.
  bool native_code = false;       // How C functions are named and where they are defined.
  bool hidden_names = false;      // Names of functions of which filters leave nothing.

  std::string sysroot;                  // Below which libraries are looked for; empty: /.
  std::vector<std::string> debug_dirs;  // Where separate debug information is, too.
  size_t jobs = 0;                      // Threads; 0: as many as there are processors.
  uint64_t max_nodes = 5000000;         // Of a file's call tree; 0: any number.
};

// For one thread. Several reports may be made, one after the other: they have one symbolizer, and
// grouped sums can be in them only if they are grouped alike.
class Pipeline {
 public:
  // `warn` gets messages without a line end, in which nothing is untrusted any more.
  Pipeline(PipelineOptions options, std::function<void(const std::string&)> warn);

  // Gives it the single calls of the files that are read until finish().
  void add(CallConsumer& consumer) { consumers_.push_back(&consumer); }

  // Adds a trace, or a saved profile, to the report. Throws Unreadable if it cannot be read, and
  // UsageError if what was asked for cannot be had of it. Damage is said and counted in `diag`.
  void read(Input& input, Diagnostics& diag, const Progress& progress = {});
  // The same; "-" is standard input. What is damaged is a warning.
  void read(const std::string& path);

  // The report of what was read since the last one.
  Report finish();

  // What of the filters matched nothing, and which sums are of different filters: lines to warn
  // with. Names in them are untrusted.
  std::vector<std::string> remarks() const;

 private:
  bool follows_calls() const;
  bool must_follow_calls() const;
  bool looks_at_names() const;
  bool needs_preview() const;
  size_t jobs() const;
  std::string needs_events() const;
  void first_pass(Input& input);
  FilterPlan plan() const;
  void profile(Input& input, Diagnostics& diag);
  void trace(Input& input, Diagnostics& diag, const Progress& progress);
  void filtered(Input& input, Diagnostics& diag, const Progress& progress);
  template <class Sink, class Make>
  std::unique_ptr<Sink> run(TraceFacts& facts, Input& input, Diagnostics& diag, size_t jobs,
                            const Progress& progress, Make make);
  template <class Sink>
  std::unique_ptr<Sink> sums(TraceFacts& facts, Input& input, Diagnostics& diag,
                             const Progress& progress);
  Symbol find_symbol(const Function& function);
  void warn_limit(const Input& input, const NodeBudget& budget) const;
  Report empty_report() const;

  const PipelineOptions options_;
  const std::function<void(const std::string&)> warn_;
  std::vector<CallConsumer*> consumers_;
  Symbolizer symbolizer_;
  const SymbolFinder finder_;
  std::mutex finding_;  // The symbolizer is for one thread.
  UnmatchedFilters unmatched_;
  SignatureCheck signatures_;
  Report report_;
  // Of the file that is being read.
  const TraceFacts* facts_ = nullptr;
  std::unique_ptr<Preview> preview_;
  uint64_t bytes_ = 0;
};

}  // namespace luatrace::analyze
