// SPDX-License-Identifier: MIT
// LiveTrace: wherever the intervals end, they add up to the whole trace; and what a single interval
// has.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "analyzer/live.h"
#include "model.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

// By name: calls, inclusive and self time; and the sums that belong to no function.
using Sums = std::map<std::string, std::vector<uint64_t>>;

void add(Sums& sums, const Report& r) {
  auto add = [&](const std::string& name, std::vector<uint64_t> more) {
    auto& list = sums[name];
    list.resize(more.size());
    for (size_t i = 0; i < more.size(); i++) list[i] += more[i];
  };
  for (const ReportFunction& f : r.functions)
    add(f.name + f.chunk + std::to_string(f.line), {f.calls, f.inclusive_ns, f.self_ns});
  uint64_t suspended = 0;
  for (const uint64_t ns : r.node_suspended_ns) suspended += ns;
  add("sums", {r.traced_ns, r.idle_ns, r.gap_ns, suspended, r.trust.events, r.trust.lost});
}

// The events in blocks of up to `size` events, which are what is read in one step.
std::string in_blocks(const std::string& events, uint64_t size) {
  std::istringstream in(events);
  std::string out;
  uint64_t n = 0;
  for (std::string line; std::getline(in, line);)
    out += line + '\n' + (++n % size ? "" : "note x\n");
  return out;
}

std::vector<Report> intervals(const std::vector<uint8_t>& bytes, uint64_t steps) {
  std::vector<Report> out;
  Input input("test.bin", bytes);
  LiveTrace live(input, [](const std::string&) {});
  for (uint64_t n = 1; live.step(); n++)
    if (n % steps == 0) out.push_back(live.interval());
  out.push_back(live.interval());
  return out;
}

void expect_whole(const std::vector<uint8_t>& bytes, uint64_t steps, const std::string& what) {
  Sums live, whole;
  for (const Report& r : intervals(bytes, steps)) add(live, r);
  add(whole, analyse(bytes).report);
  for (auto* sums : {&live, &whole})  // Functions that did nothing may be missing.
    std::erase_if(*sums,
                  [](const auto& f) { return f.second == std::vector<uint64_t>(f.second.size()); });
  ASSERT_EQ(live, whole) << what;
}

TEST(Live, IntervalsAddUpToTheTrace) {
  for (uint64_t seed = 1; seed <= seeds(1) * 1000; seed++) {
    const std::string events = model::to_text(model::generate(seed, 20 + seed % 400));
    const auto bytes = to_binary(trace_text(in_blocks(events, 1 + seed % 7)));
    expect_whole(bytes, 1 + seed % 5, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

// Functions may have their descriptions only in a later interval, so only their sums are the same.
TEST(Live, IntervalsOfDamagedTracesAddUp) {
  auto totals = [](const Sums& sums) {
    std::vector<uint64_t> out = sums.at("sums");
    uint64_t calls = 0, self = 0;
    for (const auto& [name, f] : sums)
      if (f.size() == 3) calls += f[0], self += f[2];
    out.insert(out.end(), {calls, self});
    return out;
  };
  for (uint64_t seed = 1; seed <= seeds(1) * 500; seed++) {
    const auto bytes = damaged_trace(seed, "mult=1 shift=0");
    Sums live, whole;
    for (const Report& r : intervals(bytes, 1 + seed % 5)) add(live, r);
    add(whole, analyse(bytes).report);
    ASSERT_EQ(totals(live), totals(whole)) << "seed " << seed;
  }
}

// f1 calls f2 in the first interval, which returns in the third; a coroutine waits in f3.
TEST(Live, OpenCallsCountWithTheirPart) {
  const auto all = intervals(to_binary(trace_text("0 start\n0 ringblock co=1 tid=7 rec=1\n"
                                                  "0 entry 1\n5 create 2\n5 resume 2\n5 entry 3\n"
                                                  "6 suspend yield\n10 entry 2\nnote x\n"
                                                  "20 entry 4\n30 return 4\nnote x\n"
                                                  "45 return 2\n50 stop close\n")),
                             2);  // Each with the step of a note.
  std::vector<std::map<std::string, std::vector<uint64_t>>> rows;
  for (const Report& r : all) {
    rows.emplace_back();
    for (const ReportFunction& f : r.functions)
      if (f.inclusive_ns) rows.back()[f.name] = {f.calls, f.inclusive_ns, f.self_ns};
    if (rows.back().empty()) rows.pop_back();  // A step that read descriptions, or the end.
  }
  using Rows = std::map<std::string, std::vector<uint64_t>>;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], (Rows{{"f1", {1, 10, 9}}, {"f3", {1, 1, 1}}}));
  EXPECT_EQ(rows[1], (Rows{{"f1", {0, 20, 0}}, {"f2", {0, 20, 10}}, {"f4", {1, 10, 10}}}));
  EXPECT_EQ(rows[2], (Rows{{"f1", {0, 20, 5}}, {"f2", {0, 15, 15}}}));
}

}  // namespace
}  // namespace luatrace::analyze
