// SPDX-License-Identifier: MIT
// The same time is the same figure in every view: report, tree, threads, timeline, histograms, slow
// calls, callers and callees, with any combination of filters and groups, of undamaged traces and
// of damaged ones. With LUATRACE_SEEDS=27 every combination of filters is tried with every group
// and every mode of coroutines.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "analyzer/output/folded.h"
#include "analyzer/output/views.h"
#include "analyzer/report/compensate.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/tree_times.h"
#include "model.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

uint64_t sum(const std::vector<uint64_t>& list) {
  return std::accumulate(list.begin(), list.end(), uint64_t{0});
}

void expect_functions(const Report& r, const std::string& what) {
  ASSERT_EQ(r.self_ns + r.idle_ns + r.gap_ns + r.filtered_ns, r.traced_ns) << what;
  uint64_t self = 0;
  for (const ReportFunction& f : r.functions) {
    ASSERT_LE(f.self_ns, f.inclusive_ns) << what << ", " << f.name;
    ASSERT_LE(f.inclusive_ns, std::min(f.wall_ns, r.traced_ns)) << what << ", " << f.name;
    ASSERT_EQ(f.times.count(), f.complete) << what << ", " << f.name;
    ASSERT_LE(f.complete, f.calls) << what << ", " << f.name;
    self += f.self_ns;
  }
  ASSERT_EQ(self, r.self_ns) << what;
}

// Trees lack the time of coroutines of which it is unknown what they run; it is in the running time
// of the calls that resumed them. No more than that is missing, and nothing without such
// coroutines.
void expect_total(const Report& r, uint64_t total, const ReportFunction& f,
                  const std::string& what) {
  bool unknown = false;
  for (NodeId i{1}; i < r.tree.size(); ++i)
    unknown |=
        r.tree[i].function == kReportUnknown && r.tree[r.tree[i].parent].function > kReportUnknown;
  ASSERT_LE(total, f.inclusive_ns) << what << ", " << f.name;
  ASSERT_GE(total + (unknown ? r.gap_ns : 0), f.inclusive_ns) << what << ", " << f.name;
}

// Calls and times of the tree are those of the functions; each row has a name.
void expect_tree(const Report& r, const std::string& what) {
  std::vector<uint64_t> calls(r.functions.size()), self(r.functions.size());
  for (NodeId i{1}; i < r.tree.size(); ++i) {
    ASSERT_NE(r.tree[i].function, uint32_t{kReportRoot}) << what;
    calls[r.tree[i].function] += r.tree[i].calls;
    self[r.tree[i].function] += r.tree[i].self;
  }
  const auto running = outermost_sums(r.tree, r.functions.size(), inclusive_ns(r.tree));
  for (size_t f = kReportFirst; f < r.functions.size(); f++) {
    ASSERT_EQ(calls[f], r.functions[f].calls) << what << ", " << r.functions[f].name;
    ASSERT_EQ(self[f], r.functions[f].self_ns) << what << ", " << r.functions[f].name;
    expect_total(r, running[f], r.functions[f], what);
    if (testing::Test::HasFatalFailure()) return;
  }
  const Compensation corrected = compensate(r);
  for (size_t f = kReportFirst; f < r.functions.size(); f++) {
    ASSERT_LE(corrected.functions[f].self_ns, corrected.functions[f].inclusive_ns) << what;
    ASSERT_LE(corrected.functions[f].self_ns, r.functions[f].self_ns) << what;
    ASSERT_LE(corrected.functions[f].inclusive_ns, r.functions[f].inclusive_ns) << what;
  }
}

void expect_threads(const Report& r, const std::string& what) {
  ReportThread all;
  for (const ReportThread& t : r.thread_list) {
    all.self_ns += t.self_ns;
    all.idle_ns += t.idle_ns;
    all.gap_ns += t.gap_ns;
    all.filtered_ns += t.filtered_ns;
    all.calls += t.calls;
  }
  uint64_t calls = 0;
  for (const ReportFunction& f : r.functions) calls += f.calls;
  ASSERT_EQ(all.self_ns, r.self_ns) << what;
  ASSERT_EQ(all.idle_ns, r.idle_ns) << what;
  ASSERT_EQ(all.gap_ns, r.gap_ns) << what;
  ASSERT_EQ(all.filtered_ns, r.filtered_ns) << what;
  ASSERT_EQ(all.calls, calls) << what;
}

void expect_lanes(const Report& r, bool by_root, const std::string& what) {
  std::map<uint32_t, uint64_t> functions;
  uint64_t threads = 0;
  for (const ReportLane& lane : r.timelines.at(0).lanes)
    (lane.thread ? threads : functions[lane.function]) += sum(lane.slices);
  ASSERT_EQ(threads, r.self_ns) << what;
  uint64_t rows = 0;  // All self time is in a row of the report, of a group or a function.
  for (uint32_t i : sorted_functions(r, "self"))
    rows += r.functions[i].self_ns + r.functions[i].inner_self_ns;
  ASSERT_EQ(rows, r.self_ns) << what;
  for (uint32_t i = kReportFirst; i < r.functions.size(); i++) {
    const ReportFunction& f = r.functions[i];
    if (by_root && (f.kind != FunctionKind::kGroup || f.in_group)) continue;
    ASSERT_EQ(functions[i], f.self_ns + f.inner_self_ns) << what << ", " << f.name;
  }
  // Each thread has a lane, with the time that --threads has for it.
  std::map<std::string, uint64_t> lanes, list;
  for (const ReportLane& lane : r.timelines[0].lanes)
    if (lane.thread) lanes[lane.name] += sum(lane.slices);
  for (const ReportThread& t : r.thread_list)
    if (t.self_ns) list["thread " + std::to_string(t.tid)] += t.self_ns;
  ASSERT_EQ(lanes, list) << what;
}

// whole: nothing within a call is left out.
void expect_slow(const Report& r, const Wish& w, bool whole, const std::string& what) {
  uint64_t complete = 0;
  for (const ReportFunction& f : r.functions) complete += f.complete;
  ASSERT_LE(r.slow_found, complete) << what;
  // -t leaves out brief calls of a coroutine of which a gap hides what resumed it: they have no
  // caller to take their time.
  const uint64_t without = w.filter.min_ns && r.gap_ns ? r.filtered_ns : 0;
  for (const ReportSlowCall& call : r.slow) {
    const ReportFunction& f = r.functions[call.nodes[0].function];
    ASSERT_GE(w.wall ? call.wall_ns : call.inclusive_ns, w.over_ns) << what;
    ASSERT_GE(call.inclusive_ns, w.filter.min_ns) << what;
    ASSERT_LE(call.inclusive_ns, f.max_ns) << what << ", " << f.name;
    ASSERT_GE(call.inclusive_ns, f.min_ns) << what << ", " << f.name;
    uint64_t self = 0;
    for (const SlowNode& n : call.nodes) self += n.self;
    ASSERT_LE(self, call.inclusive_ns) << what << ", " << f.name;
    ASSERT_GE(self + without, whole ? call.inclusive_ns : 0) << what << ", " << f.name;
  }
}

uint64_t number(const Table& t, const std::vector<Cell>& row, const std::string& key) {
  for (size_t i = 0; i < t.columns.size(); i++)
    if (t.columns[i].key == key) return row[i].exact;
  ADD_FAILURE() << "no column " << key;
  return 0;
}

// The rows at the root of both trees are the function itself.
void expect_relatives(const Report& r, const std::string& what) {
  ViewOptions options;
  options.limit = 0, options.limit_given = true;
  for (const ReportFunction& f : r.functions) {
    if (f.kind != FunctionKind::kLua) continue;
    const std::string fn = display_place(f);
    for (const Table& t : {callers_view(r, options, fn), callees_view(r, options, fn)})
      t.rows.each([&](const Row& row) {
        if (number(t, row, "depth") != 1 || testing::Test::HasFatalFailure()) return;
        expect_total(r, number(t, row, "inclusive_ns"), f, what + ", " + t.name);
        if (t.name != "callers") return;
        EXPECT_EQ(number(t, row, "calls"), f.calls) << what << ", callers " << fn;
      });
  }
}

void expect_agreement(const std::vector<uint8_t>& bytes, const Wish& w, const std::string& what) {
  const Report r = report_of(bytes, w, 0);
  const FilterOptions& f = w.filter;
  const bool by_root = f.group != GroupBy::kNone && f.group < GroupBy::kFile;
  const bool takes_out = !f.only.empty() || !f.without.empty() || !f.callers.empty() ||
                         !f.threads.empty() || !f.vms.empty() || !f.coroutines.empty();
  const bool whole = !takes_out && f.mode == CoroutineMode::kLinked && !by_root;
  expect_functions(r, what);
  if (!testing::Test::HasFatalFailure()) expect_tree(r, what);
  if (!testing::Test::HasFatalFailure()) expect_threads(r, what);
  if (!testing::Test::HasFatalFailure()) expect_lanes(r, by_root, what);
  if (!testing::Test::HasFatalFailure()) expect_slow(r, w, whole, what);
  if (!testing::Test::HasFatalFailure()) expect_relatives(r, what);
}

TEST(Agree, EveryCombinationOfFilters) {
  constexpr uint64_t kTraces = 64;
  constexpr const char* kClock = "mult=1 shift=0";
  std::vector<std::vector<uint8_t>> traces;
  for (uint64_t seed = 1; seed <= kTraces; seed++)
    traces.push_back(seed % 2 ? to_binary(random_trace(seed, kClock))
                              : damaged_trace(seed, kClock));
  for (uint64_t round = 0; round < seeds(1); round++)
    for (uint32_t which = 0; which < 1u << kFilters; which++) {
      const uint64_t mode = (which * 5 + which / 64 + round) % 27, trace = (which + round) % 63;
      Wish wish = random_wish(which + round * 10007, which);
      wish.filter.mode = static_cast<CoroutineMode>(mode % 3);
      wish.filter.group = static_cast<GroupBy>(mode / 3);
      expect_agreement(traces[trace], wish,
                       "round " + std::to_string(round) + ", filters " + std::to_string(which) +
                           ", trace " + std::to_string(trace + 1) + describe(wish));
      if (HasFatalFailure()) return;
    }
}

// Filters that decide on a call when it begins (not -t, nor -C: they depend on what follows).
Wish early_wish(uint64_t seed) {
  std::mt19937_64 random(seed);
  Wish w;
  FilterOptions& f = w.filter;
  for (auto* list : {&f.only, &f.without, &f.hide, &f.functions})
    if (random() % 4 == 0) *list = {"/f[" + std::to_string(1 + random() % 8) + "-9]/"};
  if (random() % 4 == 0) f.depth = 1 + static_cast<uint32_t>(random() % 4);
  if (random() % 4 == 0)
    f.coroutines = {{kNoStream, CoroutineId(1 + static_cast<uint32_t>(random() % 3))}};
  f.mode = static_cast<CoroutineMode>(random() % 3);
  f.group = static_cast<GroupBy>(random() % 8);
  f.plugins = {"x.(l)ua"};
  return w;
}

// Filters of calls, and groupings; none of a part of the trace.
Wish wish_of_calls(uint64_t seed) {
  Wish w = early_wish(seed);
  w.filter.coroutines.clear();
  if (seed % 3 == 0) w.filter.min_ns = seed % 40;
  if (seed % 5 == 0) w.filter.callers = {"/n[0-1]/"};
  return w;
}

// To the nanosecond.
TEST(Agree, IdleAndUnknownTimeAreTheSameInEveryView) {
  uint64_t idle = 0, unknown = 0;
  for (uint64_t seed = 1; seed <= seeds(1) * 600; seed++) {
    const auto bytes = seed % 2 ? to_binary(random_trace(seed)) : damaged_trace(seed);
    const Report sums = analyse(bytes).report;
    const Wish wish = wish_of_calls(seed);
    const Report r = report_of(bytes, wish, seed % 7 == 0 ? 3 : 0);
    const std::string what = "seed " + std::to_string(seed) + describe(wish);
    ASSERT_EQ(r.idle_ns, sums.idle_ns) << what;
    ASSERT_EQ(r.gap_ns, sums.gap_ns) << what;
    ASSERT_EQ(r.traced_ns, sums.traced_ns) << what;
    ASSERT_EQ(r.trust.clock_anomalies, sums.trust.clock_anomalies) << what;
    ReportThread all;
    for (const ReportThread& t : r.thread_list) all.idle_ns += t.idle_ns, all.gap_ns += t.gap_ns;
    ASSERT_EQ(all.idle_ns, sums.idle_ns) << what;
    ASSERT_EQ(all.gap_ns, sums.gap_ns) << what;
    idle += sums.idle_ns;
    unknown += sums.gap_ns;
  }
  EXPECT_GT(idle, 0u);
  EXPECT_GT(unknown, 0u);
}

// All figures of a report, by names: indices may differ.
std::string figures(const Report& r) {
  std::ostringstream out;
  out << "self " << r.self_ns << " idle " << r.idle_ns << " gap " << r.gap_ns << " filtered "
      << r.filtered_ns << " traced " << r.traced_ns << '\n';
  std::set<std::string> lines;
  for (const ReportFunction& f : r.functions) {
    std::ostringstream line;
    line << kind_name(f.kind) << ' ' << f.name << ' ' << f.chunk << ' ' << f.line << " calls "
         << f.calls << " self " << f.self_ns << " running " << f.inclusive_ns << " wall "
         << f.wall_ns << " complete " << f.complete << " min " << f.min_ns << " max " << f.max_ns
         << " sum " << f.sum_ns;
    lines.insert(line.str());
  }
  for (const std::string& line : lines) out << line << '\n';
  std::ostringstream folded;
  write_folded(folded, r, 1);
  std::istringstream in(folded.str());
  std::set<std::string> paths;
  for (std::string line; std::getline(in, line);) paths.insert(line);
  for (const std::string& path : paths) out << path << '\n';
  return out.str();
}

// The sums do not depend on whether an observer gets single calls.
TEST(Agree, RunsAddUpToWhatSingleCallsDo) {
  for (uint64_t seed = 1; seed <= seeds(1) * 600; seed++) {
    const auto bytes = seed % 2 ? to_binary(random_trace(seed)) : damaged_trace(seed);
    Wish wish = random_wish(seed);
    const size_t workers = seed % 7 == 0 ? 3 : 0;
    wish.observer = Wish::Observer::kEmpty;
    const std::string calls = figures(report_of(bytes, wish, workers));
    wish.observer = Wish::Observer::kNone;
    ASSERT_EQ(figures(report_of(bytes, wish, workers)), calls) << "seed " << seed << describe(wish);
  }
}

// Wherever a file ends: up to the last moment in it, its figures are those of the whole file.
TEST(Agree, ACutChangesOnlyWhatIsAfterIt) {
  uint64_t compared = 0;
  for (uint64_t seed = 1; seed <= seeds(1) * 500; seed++) {
    std::mt19937_64 random(seed);
    const auto events = model::generate(seed, 20 + seed % 300);
    const auto whole = to_binary(trace_text(model::to_text(events)));
    auto part = whole;
    part.resize(sizeof(lt_file_header) + random() % (whole.size() - sizeof(lt_file_header)));
    const uint64_t duration = report_of(part, {}, 0).duration_ns;
    if (duration == 0) continue;
    Wish wish = early_wish(seed);
    // The file may have only some of the events of its last moment.
    wish.to = events.front().tick + duration - 1;
    const std::string what = "seed " + std::to_string(seed) + ", " + std::to_string(part.size()) +
                             " of " + std::to_string(whole.size()) + " bytes" + describe(wish);
    ASSERT_EQ(figures(report_of(part, wish, 0)), figures(report_of(whole, wish, 0))) << what;
    compared++;
  }
  EXPECT_GT(compared, seeds(1) * 200);
}

}  // namespace
}  // namespace luatrace::analyze
