// SPDX-License-Identifier: MIT
// The timeline and the minimum time of a call (-t): each lane has exactly the self time that the
// table of functions shows, at the moments at which it was spent.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "analyzer/collect/verdict_pass.h"
#include "analyzer/read/trace_reader.h"
#include "support.h"

namespace luatrace::analyze {
namespace {

Report analyse_timeline(const std::string& text, uint64_t min_ns) {
  Diagnostics diag("test.txt", [](const std::string&) {});
  Input input("test.txt", std::vector<uint8_t>(text.begin(), text.end()));
  TraceFacts facts;
  FilterOptions options;
  options.min_ns = min_ns;
  FilterPlan plan;
  plan.options = &options;
  SymbolFinder symbols = [](const Function&) { return Symbol{}; };
  CallVerdicts verdicts = find_verdicts(plan, symbols, input, 1);
  input.rewind();
  plan.verdicts = &verdicts;
  FilteredProfile profile(plan, facts, symbols);
  Timeline timeline;
  profile.timeline = &timeline;
  Streams<FilteredProfile> streams(facts, profile, diag);
  read_trace(input, diag, streams);
  streams.finish();
  Report report;
  add_to_report(
      report,
      {"test.txt", facts, profile.sums(), &profile.sums().histograms(), &profile, diag.trust, 1},
      symbols);
  return report;
}

uint64_t sum(const std::vector<uint64_t>& slices) {
  return std::accumulate(slices.begin(), slices.end(), uint64_t{0});
}

void expect_lanes_are_self_times(const Report& report, const std::string& what) {
  ASSERT_EQ(report.timelines.size(), 1u);
  std::map<std::string, uint64_t> lanes;
  for (const auto& lane : report.timelines[0].lanes)
    if (!lane.thread) lanes[report.functions[lane.function].name] = sum(lane.slices);
  for (const auto& f : report.functions) {
    if (f.kind != FunctionKind::kLua) continue;
    ASSERT_EQ(lanes.count(f.name) ? lanes[f.name] : 0, f.self_ns) << what << ", " << f.name;
  }
}

std::string random_events(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](uint64_t n) { return random() % n; };
  std::ostringstream out;
  out << "1000 start\n1000 ringblock co=1 tid=7 rec=1\n";
  uint64_t tick = 1000;
  std::vector<uint64_t> open[3];
  uint64_t co = 0;  // The main one, or one of two that it resumes.
  for (int i = 0; i < 500; i++) {
    out << (tick += pick(60)) << ' ';
    auto& calls = open[co];
    const uint64_t what = pick(calls.size() > 8 ? 5 : 9);
    if (what == 0) {
      if (co)
        out << "suspend yield\n";
      else
        out << "resume " << 2 + pick(2) << '\n';
      // Which one it was is the second digit from the end.
      if (co)
        co = 0;
      else
        co = static_cast<uint64_t>(out.str()[out.str().size() - 2] - '1');
    } else if (what < 5 && !calls.empty()) {
      out << "return " << calls.back() << '\n';
      calls.pop_back();
    } else {
      calls.push_back(1 + pick(9));
      out << "entry " << calls.back() << '\n';
    }
  }
  return trace_text(out.str());
}

TEST(Timeline, LanesAreSelfTimesWhateverIsHidden) {
  for (uint64_t seed = 1; seed <= 200 && !HasFatalFailure(); seed++) {
    const auto text = random_events(seed);
    for (uint64_t min_ns : {0u, 1u, 40u, 300u, 5000u})
      expect_lanes_are_self_times(analyse_timeline(text, min_ns),
                                  "seed " + std::to_string(seed) + " -t " + std::to_string(min_ns));
  }
}

// A tick is not a nanosecond: what rounding takes from each slice must not be missing in the sum.
TEST(Timeline, NothingIsRoundedAway) {
  for (uint64_t seed = 1; seed <= 50 && !HasFatalFailure(); seed++) {
    auto text = random_events(seed);
    const std::string clock = "mult=1 shift=0";
    text.replace(text.find(clock), clock.size(), "mult=3 shift=3");
    const Report r = analyse_timeline(text, 0);
    expect_lanes_are_self_times(r, "seed " + std::to_string(seed));
    uint64_t threads = 0, functions = 0;
    for (const auto& lane : r.timelines[0].lanes)
      (lane.thread ? threads : functions) += sum(lane.slices);
    EXPECT_EQ(functions, r.self_ns);
    EXPECT_LE(threads - functions, r.functions.size());  // Rounded once, not for each function.
    const auto& borders = r.timelines[0].borders_ns;
    EXPECT_TRUE(std::is_sorted(borders.begin(), borders.end()));
    EXPECT_LE(borders.back(), r.duration_ns);
  }
}

// f1 runs from 0 to 400, f2 (too short) from 100 to 200: its time counts for f1, in the same
// slices.
TEST(Timeline, HiddenTimeIsTheCallersWhenItWasSpent) {
  const Report r = analyse_timeline(
      trace_text("0 start\n0 ringblock co=1 tid=7 rec=1\n0 entry 1\n100 entry 2\n200 return 2\n"
                 "400 return 1\n401 stop close"),
      150);
  std::vector<uint64_t> slices;
  for (const auto& lane : r.timelines[0].lanes)
    if (!lane.thread) {
      EXPECT_EQ(r.functions[lane.function].name, "f1");
      slices = lane.slices;
    }
  ASSERT_EQ(sum(slices), 400u);
  const auto& borders = r.timelines[0].borders_ns;
  const uint64_t width = borders[1] - borders[0];
  for (size_t i = 0; i < 400 / width; i++) ASSERT_EQ(slices[i], width) << i;
}

// The same function at many distant moments, in a call that stays undecided: bounded, and right.
TEST(Timeline, ManyPieces) {
  std::ostringstream out;
  out << "0 start\n0 ringblock co=1 tid=7 rec=1\n0 entry 1\n";
  uint64_t tick = 0;
  for (int i = 0; i < 20000; i++) {
    out << tick + 1000 << " entry 2\n" << tick + 1500 << " return 2\n";
    tick += 1500;
  }
  out << tick << " return 1\n" << tick << " stop close\n";
  const Report r = analyse_timeline(trace_text(out.str()), 1000000000);
  EXPECT_EQ(r.self_ns, 0u);  // f1 is too short as well, and has no caller.
  EXPECT_EQ(r.filtered_ns, tick);
  expect_lanes_are_self_times(analyse_timeline(trace_text(out.str()), 600), "short ones");
}

// A call that stays undecided while it goes from thread to thread: each of them gets its own time.
TEST(Timeline, ManyPiecesOfManyThreads) {
  std::ostringstream out;
  out << "0 start\n0 ringblock co=1 tid=7 rec=1\n0 entry 1\n";
  uint64_t tick = 0;
  for (int i = 0; i < 20000; i++)
    out << (tick += 10) << " thread " << 100 + i % (i < 9000 ? 6000 : 3) << '\n';
  out << tick + 5 << " return 1\n" << tick + 5 << " stop close\n";
  auto lanes = [&](uint64_t min_ns) {
    std::map<std::string, uint64_t> sums;
    const Report r = analyse_timeline(trace_text(out.str()), min_ns);
    for (const auto& lane : r.timelines[0].lanes)
      if (lane.thread) sums[lane.name] = sum(lane.slices);
    return sums;
  };
  const auto all = lanes(0);
  EXPECT_EQ(all.size(), 6001u);
  EXPECT_EQ(lanes(1), all);
  EXPECT_TRUE(lanes(tick + 6).empty());
}

}  // namespace
}  // namespace luatrace::analyze
