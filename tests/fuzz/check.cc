// SPDX-License-Identifier: MIT
#include "check.h"

#include <sys/time.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "analyzer/collect/bucketed_profile.h"
#include "analyzer/collect/request_log.h"
#include "analyzer/collect/verdict_pass.h"
#include "analyzer/output/dump.h"
#include "analyzer/output/folded.h"
#include "analyzer/output/formats/formats.h"
#include "analyzer/output/json.h"
#include "analyzer/output/summary.h"
#include "analyzer/output/views.h"
#include "analyzer/read/text_reader.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/bucket_timeline.h"
#include "analyzer/report/report.h"
#include "analyzer/report/saved_profile.h"
#include "cli/usage_error.h"

namespace luatrace::analyze::fuzz {
namespace {

// -- The limit of time: SIGPROF comes once in a second of the process's processor time --

volatile sig_atomic_t seconds = 0;
sig_atomic_t max_seconds = 20;

void one_second(int) {
  const int now = seconds + 1;
  seconds = now;
  if (now <= max_seconds) return;
  fputs("does not hold: an input takes no longer than LUATRACE_FUZZ_SECONDS\n", stderr);
  abort();
}

bool count_seconds() {
  if (const char* text = getenv("LUATRACE_FUZZ_SECONDS")) max_seconds = atoi(text);
  struct sigaction action {};
  action.sa_handler = one_second;
  action.sa_flags = SA_RESTART;
  const itimerval second{{1, 0}, {1, 0}};
  return sigaction(SIGPROF, &action, nullptr) == 0 && setitimer(ITIMER_PROF, &second, nullptr) == 0;
}

// -- Checks on an input --

std::string saved(const Report& report) {
  std::ostringstream out;
  write_profile(out, report);
  return out.str();
}

Symbol no_symbol(const Function&) {
  return {};
}

// The patterns match the functions' names in the seeds.
FilterOptions random_filter(uint64_t n) {
  static const char* const kNames[] = {"f1", "f2", "f3", "f*", "work", "*x.lua:2?", "/[13]/", "*"};
  auto take = [&n](uint64_t of) {
    const uint64_t value = n % of;
    n /= of;
    return value;
  };
  FilterOptions o;
  for (auto* list : {&o.only, &o.without, &o.callers, &o.hide, &o.functions})
    if (take(3) == 0) *list = {kNames[take(8)]};
  if (take(3) == 0) o.depth = 1 + static_cast<uint32_t>(take(4));
  if (take(3) == 0) o.min_ns = 1 + take(100);
  if (take(4) == 0) o.coroutines = {{kNoStream, CoroutineId(1 + static_cast<uint32_t>(take(3)))}};
  o.mode = static_cast<CoroutineMode>(take(3));
  o.group = static_cast<GroupBy>(take(9));
  o.group_pattern = "x.(l)ua";
  o.plugins = {"x.(l)ua"};
  return o;
}

void write_everything(const Report& report, uint64_t choice) {
  std::ostringstream out;
  ViewOptions o;
  o.report = o.tree = o.coroutines = o.threads = o.timeline = o.info = true;
  o.suspended = choice & 1;
  o.compensate = choice & 2;
  o.style.width = choice & 4 ? 0 : choice >> 4 & 127;
  const std::vector<Table> views = make_views(report, o);
  for (const Table& table : views) {
    write_text(out, table, o.style);
    write_csv(out, {table});
  }
  write_json(out, report, views);
  print_summary(out, report, o);
  write_folded(out, report, 1);
  for (const ExportFormat& format : export_formats())
    if (format.write) format.write(out, report, {});
}

void check_sums(const Report& r, bool exact) {
  uint64_t self = 0;
  for (const ReportFunction& f : r.functions) self += f.self_ns;
  require(self == r.self_ns, "the functions' self times are the sum of self times");
  if (!exact) return;
  require(inclusive_ns(r.tree)[0] == r.self_ns, "the tree's self times are the sum of self times");
  require(r.self_ns + r.idle_ns + r.gap_ns + r.filtered_ns == r.traced_ns,
          "self + idle + unknown + filtered = traced");
}

// CPU times (--cpu): what the records say is cut to what the events allow.
void check_cpu(const Report& r, bool exact) {
  uint64_t off = 0;
  for (NodeId i{0}; i < r.tree.size(); ++i) {
    off += r.cpu.off.at(i);
    require(!exact || r.cpu.off.at(i) <= r.tree[i].self, "a thread does not run in self time only");
  }
  if (!exact) return;
  require(off <= r.traced_ns, "no thread was away for longer than was traced");
}

// These sums are of the whole trace, whatever is shown of it.
void check_cpu_sums(const Report& r, bool exact) {
  require(!exact || (r.cpu.preempted_ns <= r.traced_ns && r.cpu.unknown_ns <= r.traced_ns),
          "preempted and unknown CPU time is traced time");
}

void check_requests(const RequestLog& log) {
  for (const RequestSums* r : log.requests()) {
    require(r->own <= r->wall() && r->others() <= r->wall() && r->waited() <= r->wall() &&
                r->own + r->others() + r->waited() <= r->wall(),
            "own + others + waits <= wall");
    require(r->off_cpu <= r->own, "a request is off the CPU while it holds the worker only");
    require(r->collector + r->compiler <= r->own, "collector + compiler <= own");
  }
}

template <class Sink>
void run(Input& input, Diagnostics& diag, TraceFacts& facts, Sink& sink) {
  Streams<Sink> streams(facts, sink, diag);
  read_trace(input, diag, streams);
  streams.finish();
}

// Are ticks nanoseconds, and does the time of all streams fit in 64 bits?
bool is_exact(const TraceFacts& facts) {
  uint64_t left = UINT64_MAX;
  for (const StreamSums& sums : facts.sums) {
    if (sums.traced > left) return false;
    left -= sums.traced;
  }
  return facts.clock.mult == 1 && facts.clock.shift == 0;
}

void look_at(const Report& report, const TraceFacts& facts, uint64_t choice) {
  check_sums(report, is_exact(facts));
  check_cpu(report, is_exact(facts));
  if (choice % 509 == 0) write_everything(report, choice / 509);
}

void plain(Input& input, Diagnostics& diag, uint64_t choice, const CodeWeights* weights = nullptr) {
  TraceFacts facts;
  facts.weights = weights;
  HistogramProfile profile;
  run(input, diag, facts, profile);
  Report report;
  add_to_report(report,
                {"f", facts, profile, &profile.histograms(), nullptr, diag.trust, input.size()},
                no_symbol);
  look_at(report, facts, choice);
  check_cpu_sums(report, is_exact(facts));
}

// --weights, by the samples that the same file has.
void weighed(Input& input, Diagnostics& diag, uint64_t choice) {
  Diagnostics silent("f", [](const std::string&) {});
  SegmentRuns runs(silent);
  read_trace(input, silent, runs);
  input.rewind();
  CodeSamples samples;
  read_trace(input, silent, samples);
  input.rewind();
  const CodeWeights weights(runs, samples);
  plain(input, diag, choice, &weights);
}

void filtered(Input& input, Diagnostics& diag, uint64_t choice) {
  const FilterOptions options = random_filter(choice / 61);
  FilterPlan plan;
  plan.options = &options;
  if (choice & 8) plan.from = choice >> 40 & 127, plan.to = plan.from + (choice >> 50 & 127);
  plan.slow = FunctionPatterns({"f2"});
  const SymbolFinder symbols = no_symbol;
  const CallVerdicts verdicts = find_verdicts(plan, symbols, input, 1);
  input.rewind();
  plan.verdicts = &verdicts;
  TraceFacts facts;
  FilteredProfile profile(plan, facts, symbols);
  SlowCalls slow(0, choice & 16, 5);
  CoroutineLog coroutines(CoroutineLog::By::kSuspended, 5);
  Timeline timeline;
  ThreadLog threads;
  profile.slow = &slow;
  profile.coroutines = &coroutines;
  profile.timeline = &timeline;
  profile.threads = &threads;
  run(input, diag, facts, profile);
  Report report;
  add_to_report(report,
                {"f", facts, profile.sums(), &profile.sums().histograms(), &profile, diag.trust,
                 input.size()},
                symbols);
  look_at(report, facts, choice);
}

// --bucket: the buckets sum to what there is without them (the reader of profiles compares).
void bucketed(Input& input, Diagnostics& diag, uint64_t choice) {
  constexpr uint64_t kDay = 86400ull * 1000000000;
  TraceFacts facts;
  BucketedProfile profile(choice & 1 ? kDay : kDay / 24, "f");
  try {
    run(input, diag, facts, profile);
  } catch (const UsageError&) {  // Too many.
    return;
  }
  FileBuckets buckets = profile.take_buckets();
  Report report;
  add_to_report(report,
                {"f", facts, profile, &profile.histograms(), nullptr, diag.trust, input.size(),
                 nullptr, &buckets},
                no_symbol);
  look_at(report, facts, choice);
  const std::string once = saved(report);
  Report again;
  Input second("f", Bytes(once.begin(), once.end()));
  read_profile(second, again);
  require(saved(again) == once, "a profile with time buckets is written and read as the same");
}

// --requests: filters other than a range are refused.
void requests(Input& input, Diagnostics& diag, uint64_t choice) {
  const FilterOptions options;
  FilterPlan plan;
  plan.options = &options;
  if (choice & 1) plan.from = choice >> 40 & 127, plan.to = plan.from + (choice >> 50 & 127);
  std::vector<std::string> by;
  if (choice & 2) by = {choice & 4 ? "f2" : kByCoroutines};
  const SymbolFinder symbols = no_symbol;
  TraceFacts facts;
  FilteredProfile profile(plan, facts, symbols);
  RequestLog log(by, RequestLog::Wanted{});
  log.limit({plan.from, plan.to});
  profile.requests = &log;
  run(input, diag, facts, profile);
  check_requests(log);
}

std::string dumped(const Bytes& bytes) {
  std::ostringstream out;
  Diagnostics diag("f", [](const std::string&) {});
  Input input("f", bytes);
  DumpSink sink(out);
  read_trace(input, diag, sink);
  return out.str();
}

// What cannot be written as an event (a malformed word) is a comment in the text form.
std::string without_comments(const std::string& text) {
  std::istringstream in(text);
  std::string out, line;
  for (bool first = true; std::getline(in, line); first = false)
    if (first || !line.starts_with('#')) out += line + '\n';
  return out;
}

}  // namespace

void require(bool holds, const char* property) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", property);
  abort();
}

void limit_time() {
  static const bool counting = count_seconds();
  require(counting, "the timer of processor time can be set");
  seconds = 0;
}

// FNV-1a.
uint64_t choice(const uint8_t* data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 0x100000001b3;
  return hash ^ hash >> 29;
}

void analyse(const Bytes& bytes, uint64_t choice) {
  Diagnostics diag("f", [](const std::string&) {});
  Input input("f", bytes);
  try {
    if (choice % 8 == 0)
      filtered(input, diag, choice / 8);
    else if (choice % 8 == 1)
      requests(input, diag, choice / 8);
    else if (choice % 8 == 3)
      weighed(input, diag, choice / 8);
    else if (choice % 128 == 2)  // Times far apart make many buckets, which take long.
      bucketed(input, diag, choice / 128);
    else
      plain(input, diag, choice / 8);
  } catch (const Unreadable& e) {
    require(*e.what() != 0, "what is refused is refused with a reason");
  }
}

namespace {

// A range, longer buckets, or both; a profile without buckets has neither.
void read_range(const std::string& bytes, uint64_t choice) {
  constexpr uint64_t kHour = 3600ull * 1000000000;
  const BucketRange range({TimePoint::kTimeOfDay, choice / 7 % 24 * kHour, 0},
                          {TimePoint::kTimeOfDay, choice / 211 % 25 * kHour, 0});
  BucketChoice chosen;
  if (choice % 3) chosen.range = &range;
  if (choice % 3 != 1) chosen.width_ns = 24 * kHour;
  Input input("f", Bytes(bytes.begin(), bytes.end()));
  Report report;
  try {
    read_profile(input, report, chosen);
  } catch (const UsageError&) {
    require(report.functions.size() == 2 && report.files.empty(), "what is refused leaves nothing");
    return;
  }
  add_bucket_timeline(report);
  const std::string once = saved(report);
  Report again;
  Input second("f", Bytes(once.begin(), once.end()));
  read_profile(second, again);
  require(saved(again) == once, "a range that is written and read is written as the same");
}

}  // namespace

void read_saved(const Bytes& bytes, uint64_t choice) {
  Input input("f", bytes);
  Report report;
  try {
    read_profile(input, report);
  } catch (const Unreadable& e) {
    require(*e.what() != 0, "what is refused is refused with a reason");
    require(report.functions.size() == 2 && report.files.empty(), "what is refused leaves nothing");
    return;
  }
  const std::string once = saved(report);
  Report again;
  Input second("f", Bytes(once.begin(), once.end()));
  read_profile(second, again);
  require(saved(again) == once, "a profile that is written and read is written as the same");
  read_range(once, choice / 3);
  if (choice % 509 == 0) write_everything(report, choice / 509);
}

void round_trip(const Bytes& text) {
  try {
    Input input("f", text);
    const std::string once = without_comments(dumped(text_to_binary(input)));
    require(dumped(Bytes(once.begin(), once.end())) == once, "text -> trace -> text is the same");
  } catch (const Unreadable& e) {
    require(*e.what() != 0, "what is refused is refused with a reason");
  }
}

}  // namespace luatrace::analyze::fuzz
