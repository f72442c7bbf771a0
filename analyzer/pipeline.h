// SPDX-License-Identifier: MIT
// From trace files to a report: everything a program needs to analyse traces itself.
//
//   PipelineOptions options;
//   options.filter.only = {"handle"};
//   Pipeline pipeline(options, [](const std::string& text) { std::cerr << text << '\n'; });
//   pipeline.read("trace.bin");
//   const Report report = pipeline.finish();
//   for (const ReportFunction& f : report.functions)
//     std::cout << display_name(f) << ' ' << f.self_ns << '\n';
//
// Each file is read up to three times: for facts that must be known before its first event is shown
// (filter/preview.h), for the calls that -t and -C leave out (collect/verdict_pass.h), and for the
// results, with the cheapest sink that can provide them. With samples to weigh compiled code by, it
// is read once more, for how often the code ran (machine/segment_runs.h).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "analyzer/collect/call_consumer.h"
#include "analyzer/collect/observers.h"
#include "analyzer/filter/preview.h"
#include "analyzer/machine/code_weights.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/collect_options.h"
#include "analyzer/report/report.h"
#include "analyzer/report/signature_check.h"
#include "analyzer/report/unmatched_filters.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace::analyze {

struct PipelineOptions : ReadOptions, CollectOptions {
  bool histograms = false;
  CoroutineLog::By coroutine_order = CoroutineLog::By::kSuspended;  // The first `limit` are kept.
  TurnLog::By turn_order = TurnLog::By::kWall;                      // The same of turns.
  // Keep up to that many steps of the slowest requests, and all requests: those that the files
  // have.
  size_t request_steps = 0;
  bool hidden_names = false;  // Keep the names of functions that filters leave out entirely.
  // Reports have the time buckets of all files: all must have some, or none, and equally long ones.
  bool keeps_buckets = false;
};

// To be used by one thread. It can produce several reports, one after the other; they share the
// symbolizer, and if their sums are grouped, they must be grouped alike.
class Pipeline {
 public:
  // `warn` takes messages without a line end, with untrusted text already escaped.
  Pipeline(PipelineOptions options, std::function<void(const std::string&)> warn);

  // `consumer` gets the individual calls of the files that are read until finish().
  void add(CallConsumer& consumer) { consumers_.push_back(&consumer); }

  // Adds a trace or a saved profile to the report. Throws Unreadable if it cannot be read, and
  // UsageError if it cannot provide what the options request. Damage is reported and counted in
  // `diag`.
  void read(Input& input, Diagnostics& diag, const Progress& progress = {});
  // The same; "-" is standard input. Warns of damage.
  void read(const std::string& path);

  // Returns the report of what was read since the previous one.
  Report finish();

  // Whether what was read so far has samples, not events.
  bool is_sampled() const { return kind_ && *kind_ != SampleKind::kNone; }

  // Warnings about filters that matched nothing and sums with different filters, one per line.
  // Names in them are untrusted.
  std::vector<std::string> remarks() const;

 private:
  bool looks_at_names() const;
  bool needs_preview() const;
  size_t jobs() const;
  uint64_t max_nodes() const;
  // profile: a saved one, whose time buckets do for a range and a timeline.
  std::string calls_needed_by(bool profile = false) const;
  // whole: all of it is needed in any case.
  void first_pass(Input& input, bool whole);
  FilterPlan plan() const;
  void profile(Input& input, Diagnostics& diag);
  void trace(Input& input, Diagnostics& diag, const Progress& progress);
  using LabelValues = std::unordered_set<std::string>;
  struct RequestSurvey {
    RequestLog::Wanted wanted;
    RequestLives lives;
    RequestGroups groups;
  };
  RequestSurvey survey_requests(Input& input);
  LabelValues survey_labels(Input& input);
  std::unique_ptr<FilteredProfile> survey(Input& input, TraceFacts& facts,
                                          const std::function<void(FilteredProfile&)>& prepare);
  void filtered(Input& input, Diagnostics& diag, const Progress& progress);
  template <class Sink, class Make>
  std::unique_ptr<Sink> run(TraceFacts& facts, Input& input, Diagnostics& diag, size_t jobs,
                            const Progress& progress, Make make);
  void refuse_for_samples(const Input& input) const;
  void samples(Input& input, Diagnostics& diag, const Progress& progress);
  void check_kind(const Input& input);
  void check_buckets(const Input& input);
  template <class Sink, class... Arguments>
  void sums(Input& input, Diagnostics& diag, const Progress& progress,
            const Arguments&... arguments);
  void bucketed(Input& input, Diagnostics& diag, const Progress& progress);
  Symbol find_symbol(const Function& function);
  void check_clock(const Input& input, const TraceFacts& facts) const;
  void warn_limit(const Input& input, const NodeBudget& budget) const;
  Report empty_report() const;

  const PipelineOptions options_;
  const std::function<void(const std::string&)> warn_;
  std::vector<CallConsumer*> consumers_;
  Symbolizer symbolizer_;
  const SymbolFinder finder_;
  std::mutex finding_;  // Guards symbolizer_, which is not thread-safe.
  UnmatchedFilters unmatched_;
  SignatureCheck signatures_;
  std::optional<SampleKind> kind_;        // Of all files, since the first one.
  std::string kind_of_;                   // Its name.
  std::optional<uint64_t> bucket_width_;  // Of all files of the report; 0: they have none.
  std::string bucket_width_of_;           // The name of one.
  Report report_;
  std::optional<CodeSamples> samples_;  // Once they are needed.
  // Of the current file.
  bool is_saved_ = false;  // It is a saved profile.
  const TraceFacts* facts_ = nullptr;
  std::unique_ptr<Preview> preview_;
  CodeWeights weights_;
  uint64_t bytes_ = 0;
};

}  // namespace luatrace::analyze
