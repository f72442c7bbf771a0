// SPDX-License-Identifier: MIT
// The pass that reads: chooses, for each file, the Sink that is just rich enough for what was asked
// for. Sums alone take the fast one; a single view or filter that follows calls takes the other.
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "analyzer/aggregate/conditions.h"
#include "analyzer/aggregate/saved_profile.h"
#include "analyzer/decode/escape.h"
#include "analyzer/decode/trace_reader.h"
#include "analyzer/decode/whole.h"
#include "analyzer/export/call_export.h"
#include "analyzer/export/call_tee.h"
#include "analyzer/export/chart.h"
#include "analyzer/passes.h"
#include "analyzer/progress.h"
#include "analyzer/stacks/parallel_streams.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace {
namespace {

// What has to be known of a file before it is read: when it begins and ends, and its libraries.
class Preview : public TraceSink {
 public:
  void on_header(const Clock& clock, const lt_file_header&) override { clock_ = clock; }
  // Of a trace that can be read only once, as much as can be known: its clock. False: not even
  // that.
  bool header_only(Input& input);
  void on_map(const MapInfo& info) override { maps.push_back(info); }
  void on_events(const EventBlock& block) override {
    if (block.base_tick > block.end_tick) return;
    first = std::min(first, block.base_tick);
    last = std::max(last, block.end_tick);
  }
  // The tick of a point of --time-range.
  uint64_t tick(const TimePoint& point, uint64_t open) const;

  std::vector<MapInfo> maps;
  uint64_t first = UINT64_MAX, last = 0;

 private:
  uint64_t ticks(uint64_t ns) const {
    if (clock_.mult == 0) return 0;
    unsigned __int128 scaled = (static_cast<unsigned __int128>(ns) << std::min(clock_.shift, 63u));
    unsigned __int128 value = (scaled + clock_.mult - 1) / clock_.mult;
    return value > UINT64_MAX / 4 ? UINT64_MAX / 4 : static_cast<uint64_t>(value);
  }
  Clock clock_;
};

bool Preview::header_only(Input& input) {
  lt_file_header header;
  if (input.need(sizeof header) < sizeof header) return false;
  memcpy(&header, input.data(), sizeof header);
  if (header.magic != LT_FILE_MAGIC || header.tick_shift > 63) return false;
  clock_ = clock_of(header);
  return true;
}

uint64_t Preview::tick(const TimePoint& point, uint64_t open) const {
  switch (point.kind) {
    case TimePoint::kRelative:
      return first + ticks(point.ns);
    case TimePoint::kPercent:
      return first + whole(static_cast<double>(last - first) * point.percent / 100 + 0.5);
    case TimePoint::kAbsolute: {
      if (clock_.start_real_ns == 0)
        throw UsageError("--time-range: the trace does not say at what time of day it was made");
      if (point.ns < clock_.start_real_ns) {
        uint64_t before = ticks(clock_.start_real_ns - point.ns);
        return clock_.start_tick > before ? clock_.start_tick - before : 0;
      }
      return clock_.start_tick + ticks(point.ns - clock_.start_real_ns);
    }
    default:
      return open;
  }
}

class Analysis {
 public:
  // `calls`, `chart`: where single calls go, or null.
  Analysis(Session& session, CallExport* calls, ChartExport* chart)
      : session_(session),
        options_(session.options),
        calls_(calls),
        chart_(chart),
        symbolizer_(options_.sysroot, complain, options_.debug_dirs),
        finder_([this](const Function& f) {
          const auto& maps = preview_.maps.empty() ? facts_->maps : preview_.maps;
          auto found = symbolizer_.find(maps, f.process, f.addr);
          return Symbol{found.name, found.file};
        }) {}

  void file(Report& report, const std::string& path, Input& input, Diagnostics& diag);

 private:
  bool follows_calls() const { return views_follow_calls() || chart_; }
  bool views_follow_calls() const;
  bool needs_histogram() const;
  void saved(Report& report, const std::string& path, Input& input);
  void look_ahead(const std::string& path, Input& input);
  void read(TraceFacts& facts, TraceSink& streams, Input& input, Diagnostics& diag);
  template <class Sink>
  std::unique_ptr<Sink> sums(TraceFacts& facts, Input& input, Diagnostics& diag);
  void tell_limit(const std::string& path, const NodeBudget& budget) const;
  void filtered(Report& report, const std::string& path, Input& input, Diagnostics& diag);

  Session& session_;
  const Options& options_;
  CallExport* const calls_;
  ChartExport* const chart_;
  Symbolizer symbolizer_;
  SymbolFinder finder_;
  const TraceFacts* facts_ = nullptr;  // Of the file that is being read.
  Preview preview_;
  uint64_t bytes_ = 0;
};

bool Analysis::views_follow_calls() const {
  const ViewOptions& v = options_.views;
  return calls_ || options_.filter.filters() || options_.filter.regroups() || v.coroutines ||
         v.threads || v.timeline || !v.slow.empty();
}

bool Analysis::needs_histogram() const {
  bool needs = options_.views.needs_histogram() || options_.save_profile;
  for (const auto& text : options_.fail_if)
    needs |= Condition(text, !options_.diff.empty()).needs_histogram();
  return needs;
}

// The first of two readings, if something must be known that stands behind the first event.
void Analysis::look_ahead(const std::string& path, Input& input) {
  preview_ = Preview();
  const FilterOptions& f = options_.filter;
  bool names = !f.only.empty() || !f.without.empty() || !f.callers.empty() || !f.hide.empty() ||
               !f.functions.empty() || !options_.views.slow.empty() || f.group >= GroupBy::kFile ||
               calls_;
  if (!f.has_range() && !names) return;
  if (path == "-" || input.size() == 0) {
    auto needs_file = [](const TimePoint& p) {
      return p.kind == TimePoint::kRelative || p.kind == TimePoint::kPercent;
    };
    if (!f.has_range()) return;
    if (needs_file(f.from) || needs_file(f.to) || !preview_.header_only(input))
      throw Unreadable(
          printable(input.name()) +
          ": --time-range needs a file, not a pipe: for times since the first event, or in per "
          "cent, the trace is read twice. Write it to a file, or give the time of day "
          "(2026-11-21T10:00:00~, @1700000000~)");
    return;
  }
  Input again(path);
  Diagnostics silent(path, [](const std::string&) {});
  read_trace(again, silent, preview_);
}

// `streams` gets the trace.
void Analysis::read(TraceFacts& facts, TraceSink& streams, Input& input, Diagnostics& diag) {
  facts_ = &facts;
  ProgressMode mode = isatty(STDERR_FILENO) ? ProgressMode::kTerminal
                      : options_.progress   ? ProgressMode::kLines
                                            : ProgressMode::kNever;
  ProgressLine progress(input, options_.quiet ? ProgressMode::kNever : mode);
  read_trace(input, diag, streams, [&](uint64_t offset) { progress(bytes_ = offset); });
  progress(input.offset());
}

// A limit that is no limit.
uint64_t nodes_of(const Options& options) {
  return options.max_nodes ? options.max_nodes : UINT64_MAX;
}

void Analysis::tell_limit(const std::string& path, const NodeBudget& budget) const {
  if (budget.exhausted())
    complain(printable(path) + ": the call tree has " + std::to_string(options_.max_nodes) +
             " nodes: calls that need more are put together as [pruned] (see --max-nodes)");
}

// Without a look at single calls: by several threads, if they may.
template <class Sink>
std::unique_ptr<Sink> Analysis::sums(TraceFacts& facts, Input& input, Diagnostics& diag) {
  NodeBudget budget(nodes_of(options_));
  auto make = [&] {
    auto sink = std::make_unique<Sink>();
    sink->limit(&budget);
    return sink;
  };
  const size_t jobs = options_.jobs ? options_.jobs : std::thread::hardware_concurrency();
  std::unique_ptr<Sink> sum;
  if (jobs > 1) {
    ParallelStreams<Sink> streams(facts, diag, jobs, make);
    read(facts, streams, input, diag);
    sum = streams.finish();
  } else {
    sum = make();
    Streams<Sink> streams(facts, *sum, diag);
    read(facts, streams, input, diag);
    streams.finish();
  }
  sum->limit(nullptr);
  tell_limit(input.name(), budget);
  return sum;
}

void Analysis::filtered(Report& report, const std::string& path, Input& input, Diagnostics& diag) {
  const ViewOptions& v = options_.views;
  FilterPlan plan;
  plan.options = &options_.filter;
  plan.from = preview_.tick(options_.filter.from, 0);
  plan.to = preview_.tick(options_.filter.to, UINT64_MAX);
  plan.slow = FunctionPatterns(v.slow);
  TraceFacts facts;
  facts_ = &facts;
  NodeBudget budget(nodes_of(options_));
  FilteredProfile profile(plan, facts, finder_);
  profile.limit(&budget);
  SlowCalls slow(v.over_ns, v.wall, v.slow_limit);
  CoroutineLog coroutines(coroutine_order(v.sort_given ? v.sort : ""), v.limit);
  Timeline timeline;
  ThreadLog threads;
  if (!v.slow.empty()) profile.slow = &slow;
  if (v.coroutines) profile.coroutines = &coroutines;
  if (v.timeline) profile.timeline = &timeline;
  if (v.threads) profile.threads = &threads;
  CallTee tee;
  if (calls_) tee.add(&calls_->begin_file(plan, facts, finder_));
  if (chart_) tee.add(&chart_->begin_file(plan, facts, finder_));
  profile.calls = tee.observer();
  Streams<FilteredProfile> streams(facts, profile, diag);
  read(facts, streams, input, diag);
  streams.finish();
  tell_limit(input.name(), budget);
  session_.unmet.file(facts, profile, finder_);
  if (calls_) calls_->end_file();
  if (chart_) chart_->end_file();
  add_to_report(report, {path, facts, profile, &profile.histograms(), &profile, diag.trust, bytes_},
                finder_);
}

// What of the options cannot be had from a saved profile, for a message.
std::string what_needs_events(const Options& o) {
  const ViewOptions& v = o.views;
  if (o.filter.filters()) return "a filter";
  if (o.filter.group != GroupBy::kNone) return "--group-by";
  if (o.filter.regroups()) return "--coroutines=MODE";
  if (v.coroutines) return "--coroutines";
  if (v.threads) return "--threads";
  if (v.timeline) return "--timeline";
  if (!v.slow.empty()) return "--slow";
  return "--format " + o.exports.format;
}

// A saved profile: what is in it is added; what is not cannot be had.
void Analysis::saved(Report& report, const std::string& path, Input& input) {
  if (views_follow_calls())
    throw UsageError(printable(path) + ": a saved profile has no events, which " +
                     what_needs_events(options_) + " needs: give the trace that it was made from" +
                     (options_.filter.filters() || options_.filter.regroups()
                          ? ", or filter and group when it is saved (--save-profile)"
                          : ""));
  session_.trust += read_profile(input, report);
}

void Analysis::file(Report& report, const std::string& path, Input& input, Diagnostics& diag) {
  if (is_profile(input)) return saved(report, path, input);
  look_ahead(path, input);
  bytes_ = 0;
  report.grouped = options_.filter.group != GroupBy::kNone;
  if (follows_calls()) return filtered(report, path, input, diag);
  TraceFacts facts;
  if (needs_histogram()) {
    auto profile = sums<HistogramProfile>(facts, input, diag);
    add_to_report(report,
                  {path, facts, *profile, &profile->histograms(), nullptr, diag.trust, bytes_},
                  finder_);
  } else {
    auto profile = sums<Profile>(facts, input, diag);
    add_to_report(report, {path, facts, *profile, nullptr, nullptr, diag.trust, bytes_}, finder_);
  }
}

// Above so many bytes of traces --flame makes do with sums, unless single calls are followed
// anyway.
constexpr uint64_t kMostChartBytes = 64 << 20;

uint64_t size_of(const std::vector<std::string>& files) {
  uint64_t sum = 0;
  std::error_code error;
  for (const std::string& file : files) {
    const uintmax_t size = std::filesystem::file_size(file, error);
    if (!error) sum += size;
  }
  return sum;
}

bool wants_chart(Session& session) {
  const Options& o = session.options;
  if (!o.flame) return false;
  if (o.page.always_chart || size_of(o.files) <= kMostChartBytes) return true;
  session.no_chart = "Traces of more than 64 MB: luatrace-analyze --page makes it.";
  return false;
}

// Single calls cannot be had from a saved profile.
void take_chart(Session& session, ChartExport& chart, Report& report) {
  session.chart = chart.finish(report);
  if (session.chart.tracks.empty()) session.no_chart = "No single calls are known.";
}

}  // namespace

Report analyze_files(Session& session, const std::vector<std::string>& files) {
  Report report;
  const bool main = &files == &session.options.files;
  const ExportOptions& exports = session.options.exports;
  const ExportFormat* format = find_format(exports.format);
  std::optional<CallExport> calls;
  if (main && format && format->make_writer) {
    calls.emplace(exports);
    if (calls->error() != 0) return cannot_write(session, exports.output, calls->error()), report;
  }
  std::optional<ChartExport> chart;
  if (main && wants_chart(session)) chart.emplace(session.options.page.chart_limit);
  Analysis analysis(session, calls ? &*calls : nullptr, chart ? &*chart : nullptr);
  each_file(session, files, [&](const std::string& path, Input& input, Diagnostics& diag) {
    analysis.file(report, path, input, diag);
  });
  if (calls) calls->finish();
  if (calls && calls->error() != 0) cannot_write(session, exports.output, calls->error());
  if (chart) take_chart(session, *chart, report);
  if (report.grouped) sum_up_groups(report);
  return report;
}

}  // namespace luatrace
