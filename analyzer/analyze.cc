// SPDX-License-Identifier: MIT
// The pass that reads: chooses, for each file, the Sink that is just rich enough for what was asked
// for. Sums alone take the fast one; a single view or filter that follows calls takes the other.
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "analyzer/collect/call_tee.h"
#include "analyzer/collect/verdict_pass.h"
#include "analyzer/filter/preview.h"
#include "analyzer/machine/parallel_streams.h"
#include "analyzer/output/formats/call_export.h"
#include "analyzer/output/formats/chart.h"
#include "analyzer/passes.h"
#include "analyzer/progress.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/conditions.h"
#include "analyzer/report/saved_profile.h"
#include "analyzer/symbols/symbolizer.h"
#include "base/escape.h"
#include "cli/usage_error.h"

namespace luatrace {
namespace {

class Analysis {
 public:
  // `calls`, `chart`: where single calls go, or null.
  Analysis(Session& session, CallExport* calls, ChartExport* chart)
      : session_(session),
        options_(session.options),
        calls_(calls),
        chart_(chart),
        symbolizer_(options_.sysroot, warn, options_.debug_dirs),
        finder_([this](const Function& f) {
          std::lock_guard lock(finding_);
          const auto& maps = preview_->complete ? preview_->maps : facts_->maps;
          auto found = symbolizer_.find(maps, own_map(f), f.addr);
          Symbol symbol{found.name, found.file, nullptr};
          if (options_.views.symbols)
            symbol.code =
                std::make_shared<NativeCode>(symbolizer_.describe(maps, own_map(f), f.addr));
          return symbol;
        }) {}

  void file(Report& report, const std::string& path, Input& input, Diagnostics& diag);

 private:
  bool follows_calls() const { return views_follow_calls() || chart_; }
  bool views_follow_calls() const;
  bool needs_histogram() const;
  void saved(Report& report, const std::string& path, Input& input);
  bool needs_preview() const;
  void first_pass(const std::string& path, Input& input);
  template <class Read>
  void read(TraceFacts& facts, Input& input, Read read);
  bool looks_at_names() const;
  size_t jobs() const {
    return options_.jobs ? options_.jobs : std::thread::hardware_concurrency();
  }
  template <class Sink, class Make>
  std::unique_ptr<Sink> run(TraceFacts& facts, Input& input, Diagnostics& diag, size_t jobs,
                            Make make);
  template <class Sink>
  std::unique_ptr<Sink> sums(TraceFacts& facts, Input& input, Diagnostics& diag);
  void trace(Report& report, const std::string& path, Input& input, Diagnostics& diag);
  void warn_limit(const std::string& path, const NodeBudget& budget) const;
  void filtered(Report& report, const std::string& path, Input& input, Diagnostics& diag);

  Session& session_;
  const Options& options_;
  CallExport* const calls_;
  ChartExport* const chart_;
  Symbolizer symbolizer_;
  SymbolFinder finder_;
  std::mutex finding_;                 // The symbolizer is for one thread.
  const TraceFacts* facts_ = nullptr;  // Of the file that is being read.
  std::unique_ptr<Preview> preview_;   // Of the same.
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

// While the trace is read it is asked what functions are called.
bool Analysis::looks_at_names() const {
  return options_.filter.looks_at_functions() || !options_.views.slow.empty() || calls_;
}

// By its name, or as standard input.
bool is_empty_file(const std::string& path) {
  struct stat s {};
  const int error = path == "-" ? fstat(STDIN_FILENO, &s) : stat(path.c_str(), &s);
  return error == 0 && S_ISREG(s.st_mode) && s.st_size == 0;
}

// Whether something must be known of the trace that comes after its first event.
bool Analysis::needs_preview() const {
  auto is_relative = [](const TimePoint& p) {
    return p.kind == TimePoint::kRelative || p.kind == TimePoint::kPercent;
  };
  const FilterOptions& f = options_.filter;
  return is_relative(f.from) || is_relative(f.to) || f.needs_verdicts() || looks_at_names();
}

// The first of several readings, or as much of it as is needed.
void Analysis::first_pass(const std::string& path, Input& input) {
  preview_ = std::make_unique<Preview>();
  if (is_empty_file(path)) return;  // Read says so.
  if (!needs_preview() && (!options_.filter.has_range() || preview_->header_only(input))) return;
  input.keep();
  preview_->read(input);
  input.rewind();
}

// `read` reads the trace, and tells how far it is.
template <class Read>
void Analysis::read(TraceFacts& facts, Input& input, Read read) {
  facts_ = &facts;
  ProgressMode mode = isatty(STDERR_FILENO) ? ProgressMode::kTerminal
                      : options_.progress   ? ProgressMode::kLines
                                            : ProgressMode::kNever;
  // Calls that are written to the terminal meanwhile must not be mixed up with it.
  const bool written = calls_ && options_.exports.output == "-" && isatty(STDOUT_FILENO);
  ProgressLine progress(input, options_.quiet || written ? ProgressMode::kNever : mode);
  read([&](uint64_t offset) { progress(bytes_ = offset); });
  progress(input.offset());
}

// A limit that is no limit.
uint64_t nodes_of(const Options& options) {
  return options.max_nodes ? options.max_nodes : UINT64_MAX;
}

void Analysis::warn_limit(const std::string& path, const NodeBudget& budget) const {
  if (budget.exhausted())
    warn(printable(path) + ": the call tree has " + std::to_string(options_.max_nodes) +
         " nodes: calls that need more are put together as [pruned] (see --max-nodes)");
}

// `make`: as ParallelStreams wants it.
template <class Sink, class Make>
std::unique_ptr<Sink> Analysis::run(TraceFacts& facts, Input& input, Diagnostics& diag, size_t jobs,
                                    Make make) {
  std::unique_ptr<Sink> sink;
  read(facts, input, [&](const Progress& progress) {
    sink = read_streams<Sink>(input, facts, diag, jobs, make, progress);
  });
  return sink;
}

// Without a look at single calls.
template <class Sink>
std::unique_ptr<Sink> Analysis::sums(TraceFacts& facts, Input& input, Diagnostics& diag) {
  NodeBudget budget(nodes_of(options_));
  auto sum = run<Sink>(facts, input, diag, jobs(), [&](const TraceFacts&) {
    auto sink = std::make_unique<Sink>();
    sink->limit(&budget);
    return sink;
  });
  sum->limit(nullptr);
  sum->close();
  warn_limit(input.name(), budget);
  return sum;
}

// What the views that follow single calls ask for, of the streams of one worker.
struct Observers {
  explicit Observers(const ViewOptions& v)
      : slow(v.over_ns, v.wall, v.slow_limit),
        coroutines(coroutine_order(v.sort_given ? v.sort : ""), v.limit) {}
  void watch(FilteredProfile& profile, const ViewOptions& v) {
    if (!v.slow.empty()) profile.slow = &slow;
    if (v.coroutines) profile.coroutines = &coroutines;
    if (v.timeline) profile.timeline = &timeline;
    if (v.threads) profile.threads = &threads;
  }
  SlowCalls slow;
  CoroutineLog coroutines;
  Timeline timeline;
  ThreadLog threads;
};

void Analysis::filtered(Report& report, const std::string& path, Input& input, Diagnostics& diag) {
  const ViewOptions& v = options_.views;
  FilterPlan plan;
  plan.options = &options_.filter;
  plan.from = preview_->tick(options_.filter.from, 0);
  plan.to = preview_->tick(options_.filter.to, UINT64_MAX);
  plan.slow = FunctionPatterns(v.slow);
  if (preview_->complete) plan.known = &preview_->functions;
  CallVerdicts verdicts;
  if (options_.filter.needs_verdicts()) {
    verdicts = find_verdicts(plan, finder_, input, jobs());
    input.rewind();
    plan.verdicts = &verdicts;
  }
  TraceFacts facts;
  facts_ = &facts;
  NodeBudget budget(nodes_of(options_));
  CallTee tee;
  if (calls_) tee.add(&calls_->begin_file(plan, facts, finder_));
  if (chart_) tee.add(&chart_->begin_file(plan, facts, finder_));
  std::deque<Observers> observers;
  auto make = [&](const TraceFacts& mine) {
    auto sink = std::make_unique<FilteredProfile>(plan, mine, facts.functions, finder_);
    sink->limit(&budget);
    observers.emplace_back(v).watch(*sink, v);
    sink->calls = tee.observer();
    return sink;
  };
  // Single calls are written in the order of the file.
  auto sum = run<FilteredProfile>(facts, input, diag, tee.observer() ? 1 : jobs(), make);
  warn_limit(input.name(), budget);
  session_.unmet.file(facts, *sum, finder_);
  if (calls_) calls_->end_file();
  if (chart_) chart_->end_file();
  sum->close();
  const HistogramProfile& sums = sum->sums();
  add_to_report(report, {path, facts, sums, &sums.histograms(), sum.get(), diag.trust, bytes_},
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
  if (v.symbols) return "--symbols";
  return "--format " + o.exports.format;
}

// A saved profile: what is in it is added; what is not cannot be had.
void Analysis::saved(Report& report, const std::string& path, Input& input) {
  if (views_follow_calls() || options_.views.symbols)
    throw UsageError(printable(path) + ": a saved profile has no events, which " +
                     what_needs_events(options_) + " needs: give the trace that it was made from" +
                     (options_.filter.filters() || options_.filter.regroups()
                          ? ", or filter and group when it is saved (--save-profile)"
                          : ""));
  session_.trust += read_profile(input, report);
}

void Analysis::file(Report& report, const std::string& path, Input& input, Diagnostics& diag) {
  if (is_profile(input)) return saved(report, path, input);
  first_pass(path, input);
  bytes_ = 0;
  report.grouped |= options_.filter.group != GroupBy::kNone;
  trace(report, path, input, diag);
  report.files.back().choice = signature_of(options_.filter);
}

// One with events.
void Analysis::trace(Report& report, const std::string& path, Input& input, Diagnostics& diag) {
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

// While it lives `grouped` is that of one file.
class GroupedBefore {
 public:
  explicit GroupedBefore(Report& report)
      : grouped_(report.grouped), before_(std::exchange(report.grouped, false)) {}
  ~GroupedBefore() { grouped_ |= before_; }
  GroupedBefore(const GroupedBefore&) = delete;
  GroupedBefore& operator=(const GroupedBefore&) = delete;

 private:
  bool& grouped_;
  const bool before_;
};

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

// Views or conditions do, so there may be something to say about names.
bool names_functions(const Options& o) {
  return !o.views.callers.empty() || !o.views.callees.empty() || !o.views.hist.empty() ||
         !o.views.slow.empty() || !o.fail_if.empty();
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
  report.keeps_hidden = names_functions(session.options);
  report.keeps_codes = session.options.views.symbols;
  const ExportOptions& exports = session.options.exports;
  const ExportFormat* format = find_format(exports.format);
  std::optional<CallExport> calls;
  if (main && format && format->make_writer) {
    calls.emplace(exports);
    if (!calls->error().empty())
      return cannot_write(session, exports.output, calls->error()), report;
  }
  std::optional<ChartExport> chart;
  if (main && wants_chart(session)) chart.emplace(session.options.page.chart_limit);
  Analysis analysis(session, calls ? &*calls : nullptr, chart ? &*chart : nullptr);
  each_file(session, files, [&](const std::string& path, Input& input, Diagnostics& diag) {
    const size_t known = report.files.size();
    const GroupedBefore before(report);
    analysis.file(report, path, input, diag);
    session.choices.add(input.name(), std::span(report.files).subspan(known), report.grouped);
  });
  if (calls) calls->finish();
  if (calls && !calls->error().empty()) cannot_write(session, exports.output, calls->error());
  if (chart) take_chart(session, *chart, report);
  if (report.grouped) sum_up_groups(report);
  report.tree.drop_index();
  return report;
}

}  // namespace luatrace
