// SPDX-License-Identifier: MIT
#include "analyzer/pipeline.h"

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <thread>
#include <utility>

#include "analyzer/collect/bucketed_profile.h"
#include "analyzer/collect/label_values.h"
#include "analyzer/collect/verdict_pass.h"
#include "analyzer/machine/parallel_streams.h"
#include "analyzer/read/is_sampled.h"
#include "analyzer/report/bucket_timeline.h"
#include "analyzer/report/cpu_times.h"
#include "analyzer/report/sample_counts.h"
#include "analyzer/report/saved_profile.h"
#include "base/escape.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

// The observers of individual calls, for the streams of one worker.
struct Observers {
  Observers(const PipelineOptions& o, const RequestLog::Wanted& wanted, const RequestLives& lives,
            const TickRange& range)
      : slow(o.slow_over_ns, o.slow_by_wall, o.slow_limit),
        coroutines(o.coroutine_order, o.limit),
        requests(o.request_by, wanted) {
    requests.limit(range);
    if (o.request_steps) requests.keep_steps(o.request_steps);
    if (o.turns) requests.collect_turns(lives, o.turn_order, o.limit);
  }
  void watch(FilteredProfile& profile, const PipelineOptions& o, const RequestGroups& groups) {
    if (!o.slow.empty()) profile.slow = &slow;
    if (o.coroutines) profile.coroutines = &coroutines;
    if (o.waits) profile.waits = &waits;
    const bool grouped = o.filter.group == GroupBy::kRequest;
    if (o.follows_requests() || o.request_steps || grouped) profile.requests = &requests;
    if (grouped) profile.request_groups = &groups;
    if (o.timeline) profile.timeline = &timeline;
    if (o.threads) profile.threads = &threads;
  }
  SlowCalls slow;
  CoroutineLog coroutines;
  WaitLog waits;
  RequestLog requests;
  Timeline timeline;
  ThreadLog threads;
};

// During its lifetime, report.grouped applies to the current file only.
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

}  // namespace

Pipeline::Pipeline(PipelineOptions options, std::function<void(const std::string&)> warn)
    : options_(std::move(options)),
      warn_(std::move(warn)),
      symbolizer_(options_.sysroot, warn_, options_.debug_dirs),
      finder_([this](const Function& f) { return find_symbol(f); }),
      unmatched_(options_.filter),
      report_(empty_report()) {}

Report Pipeline::empty_report() const {
  Report report;
  report.keeps_hidden = options_.hidden_names;
  report.keeps_codes = options_.symbols;
  return report;
}

Symbol Pipeline::find_symbol(const Function& f) {
  std::lock_guard lock(finding_);
  const MapTable& maps = preview_->complete ? preview_->maps : facts_->maps;
  Symbol symbol = symbolizer_.find(maps, f);
  if (options_.symbols) symbol.code = std::make_shared<NativeCode>(symbolizer_.describe(maps, f));
  return symbol;
}

size_t Pipeline::jobs() const {
  return options_.jobs ? options_.jobs : std::thread::hardware_concurrency();
}

uint64_t Pipeline::max_nodes() const {
  return options_.max_nodes ? options_.max_nodes : UINT64_MAX;
}

// Returns what requires that single calls are followed, for a message; "" if nothing does.
std::string Pipeline::calls_needed_by(bool profile) const {
  const PipelineOptions& o = options_;
  if (o.filter.filters_calls() || (o.filter.has_range() && !profile)) return "a filter";
  if (o.filter.group != GroupBy::kNone) return "--group-by";
  if (o.filter.regroups()) return "--coroutines=MODE";
  for (const CallConsumer* consumer : consumers_)
    if (!consumer->required_by().empty()) return consumer->required_by();
  if (o.coroutines) return "--coroutines";
  if (o.waits) return "--waits";
  if (o.turns) return "--turns";
  if (o.follows_requests()) return "--requests";
  if (o.threads) return "--threads";
  if (o.timeline && !profile) return "--timeline";
  return o.slow.empty() ? "" : "--slow";
}

// Whether function names are needed while the trace is read.
bool Pipeline::looks_at_names() const {
  return options_.filter.looks_at_functions() || !options_.slow.empty() ||
         options_.follows_requests() || options_.request_steps ||
         std::any_of(consumers_.begin(), consumers_.end(),
                     [](const CallConsumer* c) { return !c->required_by().empty(); });
}

// Whether facts from beyond the first event must be known in advance.
bool Pipeline::needs_preview() const {
  auto is_relative = [](const TimePoint& p) {
    return p.kind == TimePoint::kRelative || p.kind == TimePoint::kPercent;
  };
  const FilterOptions& f = options_.filter;
  return is_relative(f.from) || is_relative(f.to) || f.needs_verdicts() || looks_at_names();
}

// The first pass over the file, or as much of it as needed.
void Pipeline::first_pass(Input& input, bool whole) {
  preview_ = std::make_unique<Preview>();
  if (input.need(1) == 0) return;  // The next pass reports the error.
  if (!whole && !needs_preview() && (!options_.filter.has_range() || preview_->read_clock(input)))
    return;
  input.keep();
  preview_->read(input);
  input.rewind();
}

void Pipeline::warn_limit(const Input& input, const NodeBudget& budget) const {
  if (budget.exhausted())
    warn_(printable(input.name()) + ": the call tree has " + std::to_string(options_.max_nodes) +
          " nodes: calls that need more are merged as [pruned] (see --max-nodes)");
}

// Throws UsageError if the trace cannot have time buckets.
void Pipeline::check_clock(const Input& input, const TraceFacts& facts) const {
  if (facts.clock.start_real_ns == 0)
    throw UsageError("--bucket: " + printable(input.name()) +
                     " has no time of day, to which time buckets are aligned: leave --bucket out");
}

// `make`: as for read_streams().
template <class Sink, class Make>
std::unique_ptr<Sink> Pipeline::run(TraceFacts& facts, Input& input, Diagnostics& diag, size_t jobs,
                                    const Progress& progress, Make make) {
  facts_ = &facts;
  facts.weights = weights_.samples() ? &weights_ : nullptr;
  auto sink = read_streams<Sink>(input, facts, diag, jobs, make, [&](uint64_t offset) {
    bytes_ = offset;
    if (progress) progress(offset);
  });
  if (progress) progress(input.offset());
  return sink;
}

// Sums only, without following individual calls. `arguments`: of the Sink.
template <class Sink, class... Arguments>
void Pipeline::sums(Input& input, Diagnostics& diag, const Progress& progress,
                    const Arguments&... arguments) {
  TraceFacts facts;
  NodeBudget budget(max_nodes());
  auto sum = run<Sink>(facts, input, diag, jobs(), progress, [&](const TraceFacts&) {
    auto sink = std::make_unique<Sink>(arguments...);
    sink->limit(&budget);
    return sink;
  });
  warn_limit(input, budget);
  sum->close();
  FileResult result{input.path(), facts, *sum, nullptr, nullptr, diag.trust, bytes_};
  if constexpr (requires { sum->histograms(); }) result.histograms = &sum->histograms();
  FileBuckets buckets;
  if constexpr (requires { sum->take_buckets(); }) {
    check_clock(input, facts);
    buckets = sum->take_buckets();
    result.buckets = &buckets;
  }
  add_to_report(report_, result, finder_);
}

// Sums, and those of time buckets.
void Pipeline::bucketed(Input& input, Diagnostics& diag, const Progress& progress) {
  std::string other = calls_needed_by();
  if (other.empty() && !consumers_.empty()) other = "--page";
  if (!other.empty())
    throw UsageError("--bucket cannot be combined with " + other + " for " +
                     printable(input.name()) +
                     ": time buckets have sums, not single calls; give it a run of its own");
  sums<BucketedProfile>(input, diag, progress, options_.bucket_ns, input.name());
}

FilterPlan Pipeline::plan() const {
  FilterPlan plan;
  plan.options = &options_.filter;
  plan.from = preview_->tick(options_.filter.from, 0);
  plan.to = preview_->tick(options_.filter.to, UINT64_MAX);
  plan.slow = FunctionPatterns(options_.slow);
  if (preview_->complete) plan.known = &preview_->functions;
  if (weights_.samples()) plan.weights = &weights_;
  return plan;
}

// Which request has this id.
RequestLog::Wanted wanted_request(const std::vector<const RequestSums*>& requests, uint32_t id,
                                  const TickRange& range) {
  if (id > requests.size())
    throw UsageError("--request: there is no request " + std::to_string(id) + ": the trace has " +
                     std::to_string(requests.size()) + " (see --requests)");
  if (!requests[id - 1]->is_in(range))
    throw UsageError("--request: request " + std::to_string(id) + " is not in the range of -r");
  return {requests[id - 1]->stream, RequestId(requests[id - 1]->number)};
}

// A pass over the file that finds out something in advance.
std::unique_ptr<FilteredProfile> Pipeline::survey(
    Input& input, TraceFacts& facts, const std::function<void(FilteredProfile&)>& prepare) {
  const FilterPlan plan = this->plan();
  Diagnostics diag(input.name(), [](const std::string&) {});
  NodeBudget budget(max_nodes());
  auto sum = run<FilteredProfile>(facts, input, diag, jobs(), {}, [&](const TraceFacts& mine) {
    auto sink = std::make_unique<FilteredProfile>(plan, mine, facts.functions, finder_);
    sink->limit(&budget);
    prepare(*sink);
    return sink;
  });
  input.rewind();
  return sum;
}

Pipeline::LabelValues Pipeline::survey_labels(Input& input) {
  TraceFacts facts;
  const auto sum = survey(input, facts, [](FilteredProfile&) {});
  return values_with_groups(sum->sums().tree(), facts.functions, options_.filter.label_groups);
}

// What must be known of requests in advance.
Pipeline::RequestSurvey Pipeline::survey_requests(Input& input) {
  TraceFacts facts;
  std::deque<RequestLog> logs;
  const auto sum = survey(input, facts, [&](FilteredProfile& sink) {
    sink.requests = &logs.emplace_back(options_.request_by, RequestLog::Wanted{});
    // The groups of a range have the names and the order of the whole recording.
    if (options_.filter.group != GroupBy::kRequest) sink.requests->limit({plan().from, plan().to});
  });
  const auto requests = sum->requests->requests();
  RequestSurvey found;
  if (options_.request)
    found.wanted = wanted_request(requests, options_.request, sum->requests->range());
  if (options_.turns)
    for (const RequestSums* r : requests)
      grown(found.lives[r->stream], r->number) = {r->begin.busy, r->end.busy};
  if (options_.filter.group == GroupBy::kRequest)
    found.groups = {requests, options_.filter.request_groups, [&](FunctionId f) {
                      return f == kTimerFunction ? timer_phase()
                                                 : describe(facts.functions[f], finder_);
                    }};
  return found;
}

void Pipeline::filtered(Input& input, Diagnostics& diag, const Progress& progress) {
  FilterPlan plan = this->plan();
  CallVerdicts verdicts;
  if (options_.filter.needs_verdicts()) {
    verdicts = find_verdicts(plan, finder_, input, jobs());
    input.rewind();
    plan.verdicts = &verdicts;
  }
  RequestSurvey survey;
  if (options_.request || options_.turns || options_.filter.group == GroupBy::kRequest)
    survey = survey_requests(input);
  LabelValues labels;
  if (options_.filter.group == GroupBy::kLabel) labels = survey_labels(input);
  TraceFacts facts;
  facts_ = &facts;
  NodeBudget budget(max_nodes());
  std::vector<CallObserver*> calls;
  for (CallConsumer* consumer : consumers_)
    calls.push_back(&consumer->begin_file(plan, facts, finder_));
  std::deque<Observers> observers;
  auto make = [&](const TraceFacts& mine) {
    auto sink = std::make_unique<FilteredProfile>(plan, mine, facts.functions, finder_);
    sink->limit(&budget);
    observers.emplace_back(options_, survey.wanted, survey.lives, TickRange{plan.from, plan.to})
        .watch(*sink, options_, survey.groups);
    sink->label_groups = &labels;
    sink->calls = calls;
    return sink;
  };
  // Consumers get individual calls in file order, so one thread reads.
  auto sum = run<FilteredProfile>(facts, input, diag, calls.empty() ? jobs() : 1, progress, make);
  warn_limit(input, budget);
  unmatched_.file(facts, *sum, finder_);
  if (!options_.follows_requests() && !options_.request_steps)
    sum->requests = nullptr;  // Only for groups.
  for (CallConsumer* consumer : consumers_) consumer->end_file();
  sum->close();
  const HistogramProfile& sums = sum->sums();
  add_to_report(report_,
                {input.path(), facts, sums, &sums.histograms(), sum.get(), diag.trust, bytes_},
                finder_);
}

// -- Samples --

// Throws UsageError if an option needs what samples do not have.
void Pipeline::refuse_for_samples(const Input& input) const {
  const PipelineOptions& o = options_;
  std::string option;
  if (o.filter.min_ns) option = "-t";
  if (o.coroutines) option = "--coroutines";
  if (o.waits) option = "--waits";
  if (o.turns) option = "--turns";
  if (o.requests) option = "--requests";
  if (o.request) option = "--request";
  if (o.threads) option = "--threads";
  if (o.timeline && !o.bucket_ns) option = "--timeline";
  if (!o.slow.empty()) option = "--slow";
  if (o.symbols) option = "--symbols";
  if (!o.weights.empty()) option = "--weights";
  for (const CallConsumer* consumer : consumers_)
    if (!consumer->required_by().empty()) option = consumer->required_by();
  const std::string instead =
      option == "--timeline" ? "give --bucket LENGTH, too" : "leave " + option + " out";
  if (!option.empty())
    throw UsageError(option + ": " + printable(input.name()) +
                     " has samples, which know no single calls: " + instead +
                     ", or record events (luatrace-record without --sample)");
}

namespace {

// As survey_labels(), of samples.
std::unordered_set<std::string> sampled_labels(Input& input, const FilterPlan& plan,
                                               const SymbolFinder& symbols,
                                               const PipelineOptions& options, size_t max_nodes) {
  TraceFacts facts;
  Diagnostics diag(input.name(), [](const std::string&) {});
  NodeBudget budget(max_nodes);
  SampledProfile sum(plan, facts, symbols, diag, options.off_cpu);
  sum.limit(&budget);
  read_trace(input, diag, sum);
  sum.finish();
  input.rewind();
  return values_with_groups(sum.profile().tree(), facts.functions, options.filter.label_groups);
}

}  // namespace

// The names of native functions and the ends of the trace are needed from the beginning on, so the
// file is read twice.
void Pipeline::samples(Input& input, Diagnostics& diag, const Progress& progress) {
  refuse_for_samples(input);
  LabelValues labels;
  const FilterPlan plan = this->plan();
  if (options_.filter.group == GroupBy::kLabel)
    labels = sampled_labels(input, plan, finder_, options_, max_nodes());
  TraceFacts facts;
  facts_ = &facts;
  NodeBudget budget(max_nodes());
  SampleBuckets buckets(options_.bucket_ns, input.name());
  SampledProfile sum(plan, facts, finder_, diag, options_.off_cpu,
                     options_.bucket_ns ? &buckets : nullptr);
  sum.limit(&budget);
  sum.label_groups = &labels;
  read_trace(input, diag, sum, [&](uint64_t offset) {
    bytes_ = offset;
    if (progress) progress(offset);
  });
  sum.finish();
  if (progress) progress(input.offset());
  warn_limit(input, budget);
  if (options_.off_cpu && !sum.sums().samples && sum.sums().others)
    warn_("--off-cpu: " + printable(input.name()) +
          " has only samples of CPU time, which are shown without this option "
          "(luatrace-record --sample HZ --off-cpu takes those of blocked time)");
  report_.sampled = sum.off_cpu() ? SampleKind::kOffCpu : SampleKind::kCpu;
  FileResult result{input.path(), facts, sum.profile(), nullptr, nullptr, diag.trust, bytes_, &sum};
  if (options_.bucket_ns) {
    check_clock(input, facts);
    result.buckets = &buckets.result();
  }
  add_to_report(report_, result, finder_);
}

namespace {

const char* text_of(SampleKind kind) {
  return kind == SampleKind::kNone  ? "events"
         : kind == SampleKind::kCpu ? "samples of CPU time"
                                    : "samples of blocked time";
}

}  // namespace

// Throws UsageError if the last file is not of the same kind as those before it.
void Pipeline::check_kind(const Input& input) {
  if (!kind_) kind_of_ = printable(input.name());
  if (!kind_) kind_ = report_.sampled;
  if (*kind_ != report_.sampled)
    throw UsageError(printable(input.name()) + " has " + text_of(report_.sampled) + ", " +
                     kind_of_ + " has " + text_of(*kind_) +
                     ": such sums cannot be added up or compared; analyze them separately");
}

// Throws UsageError if the time buckets of the last file cannot be added to those before it.
void Pipeline::check_buckets(const Input& input) {
  const uint64_t width = report_.buckets.width_ns;
  const auto text = [](const std::string& name, uint64_t ns) {
    return name + (ns ? " has time buckets of " + width_text(ns) : " has no time buckets");
  };
  if (options_.keeps_buckets && bucket_width_.value_or(width) != width)
    throw UsageError(text(printable(input.name()), width) + ", " +
                     text(bucket_width_of_, *bucket_width_) +
                     ": --bucket with a multiple of both makes all alike; --bucket none leaves "
                     "them out");
  if (!bucket_width_) bucket_width_of_ = printable(input.name());
  bucket_width_ = width;
  if (options_.timeline && is_saved_ && !width)
    throw UsageError("--timeline: " + text(printable(input.name()), 0) +
                     ": give the trace that it was made from, or save it with --bucket");
}

// -- Events --

namespace {

// Throws Unreadable, and UsageError if the file has none.
CodeSamples read_samples(const std::string& path,
                         const std::function<void(const std::string&)>& warn) {
  Input input(path);
  const auto refuse = [&] {
    throw UsageError("--weights: " + printable(input.name()) +
                     " has no samples: luatrace-record --sample HZ takes them");
  };
  if (is_profile(input)) refuse();
  const bool sampled = is_sampled(input);
  Diagnostics diag(input.name(), warn);
  CodeSamples samples;
  TraceReader reader(input, diag, samples);  // Refuses what is not a trace.
  if (!sampled) refuse();
  while (reader.step()) {
  }
  return samples;
}

// A pass over the file that finds how the time in compiled code is to be apportioned.
CodeWeights find_weights(Input& input, const CodeSamples& samples) {
  input.keep();
  Diagnostics silent(input.name(), [](const std::string&) {});
  SegmentRuns runs(silent);
  read_trace(input, silent, runs);
  input.rewind();
  return {runs, samples};
}

}  // namespace

// Reads a trace with events, as opposed to a saved profile.
void Pipeline::trace(Input& input, Diagnostics& diag, const Progress& progress) {
  weights_ = {};
  if (!options_.weights.empty()) {
    if (!samples_) samples_ = read_samples(options_.weights, warn_);
    weights_ = find_weights(input, *samples_);
    report_.weight_samples += weights_.samples();
    if (!weights_.samples())
      warn_("--weights: " + printable(options_.weights) +
            " has no samples in the compiled code of " + printable(input.name()) +
            " (they must be of the same process, taken while it was recorded): time inside "
            "segments is apportioned by the size of the code");
  }
  if (options_.bucket_ns)
    bucketed(input, diag, progress);
  else if (!consumers_.empty() || !calls_needed_by().empty())
    filtered(input, diag, progress);
  else if (options_.histograms)
    sums<HistogramProfile>(input, diag, progress);
  else
    sums<Profile>(input, diag, progress);
}

void Pipeline::profile(Input& input, Diagnostics& diag) {
  std::string needed_by = calls_needed_by(true);
  if (needed_by.empty() && options_.symbols) needed_by = "--symbols";
  if (needed_by.empty() && !options_.weights.empty()) needed_by = "--weights";
  if (!needed_by.empty())
    throw UsageError(printable(input.name()) + ": a saved profile has no events, which " +
                     needed_by + " needs: give the trace that it was made from" +
                     (options_.filter.filters_calls() || options_.filter.regroups()
                          ? ", or filter and group when it is saved (--save-profile)"
                          : ""));
  const size_t known = report_.files.size();
  const BucketRange range(options_.filter.from, options_.filter.to);
  BucketChoice choice{options_.bucket_ns, nullptr, options_.keeps_buckets, warn_};
  if (options_.filter.has_range()) choice.range = &range;
  diag.trust += read_profile(input, report_, choice);
  for (ReportFile& file : std::span(report_.files).subspan(known))
    if (choice.range && file.signature)
      file.signature->filters +=
          (file.signature->filters.empty() ? "" : " ") + range_text(options_.filter);
}

void Pipeline::read(Input& input, Diagnostics& diag, const Progress& progress) {
  const size_t known = report_.files.size();
  report_.buckets.width_ns = 0;
  const GroupedBefore before(report_);
  report_.sampled = SampleKind::kNone;
  is_saved_ = is_profile(input);
  if (is_saved_) {
    profile(input, diag);
  } else {
    const bool sampled = analyze::is_sampled(input);
    if (options_.off_cpu && !sampled)
      throw UsageError("--off-cpu: " + printable(input.name()) +
                       " has no samples: --cpu in luatrace-record tells waiting from running");
    first_pass(input, sampled);
    bytes_ = 0;
    report_.grouped |= options_.filter.group != GroupBy::kNone;
    sampled ? samples(input, diag, progress) : trace(input, diag, progress);
    report_.files.back().signature = signature_of(options_.filter);
  }
  check_kind(input);
  check_buckets(input);
  signatures_.add(input.name(), std::span(report_.files).subspan(known), report_.grouped);
}

void Pipeline::read(const std::string& path) {
  Input input(path);
  Diagnostics diag(input.name(), warn_);
  read(input, diag);
}

Report Pipeline::finish() {
  consumers_.clear();
  if (report_.grouped) sum_up_groups(report_);
  add_cpu_times(report_);
  add_apportioned_times(report_);
  if (options_.timeline && report_.buckets.width_ns) add_bucket_timeline(report_);
  bucket_width_.reset();
  add_sample_counts(report_);
  report_.tree.drop_index();
  return std::exchange(report_, empty_report());
}

std::vector<std::string> Pipeline::remarks() const {
  std::vector<std::string> all = unmatched_.remarks();
  for (std::string& remark : signatures_.remarks()) all.push_back(std::move(remark));
  return all;
}

}  // namespace luatrace::analyze
