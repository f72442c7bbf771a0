// SPDX-License-Identifier: MIT
// A call tree with a limit: calls without a node are in [pruned], and all sums are the same as
// without a limit.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "analyzer/read/trace_reader.h"
#include "support.h"

namespace luatrace::analyze {
namespace {

std::string random_events(uint64_t seed, int length) {
  std::mt19937_64 random(seed);
  auto pick = [&](uint64_t n) { return random() % n; };
  std::ostringstream out;
  uint64_t tick = 1000;
  out << "1000 start\n1000 ringblock co=1 tid=7 rec=1\n";
  std::vector<uint64_t> open;
  for (int i = 0; i < length; i++) {
    out << (tick += pick(20)) << ' ';
    switch (pick(open.size() > 12 ? 3 : 9)) {
      case 0:
      case 1:
      case 2:
        if (open.empty()) {
          out << "resume " << 2 + pick(3) << '\n' << tick << " suspend yield\n";
        } else {
          out << "return " << open.back() << '\n';
          open.pop_back();
        }
        break;
      default:
        open.push_back(1 + pick(9));
        out << "entry " << open.back() << '\n';
    }
  }
  return trace_text(out.str());
}

struct Limited {
  Report report;
  size_t nodes = 0;
};

template <class Sink>
Limited analyse_limited(const std::string& text, uint64_t nodes) {
  Diagnostics diag("test.txt", [](const std::string&) {});
  Input input("test.txt", std::vector<uint8_t>(text.begin(), text.end()));
  TraceFacts facts;
  FilterOptions options;
  FilterPlan plan;
  plan.options = &options;
  SymbolFinder symbols = [](const Function&) { return Symbol{}; };
  NodeBudget budget(nodes);
  std::unique_ptr<Sink> sink;
  if constexpr (std::is_same_v<Sink, FilteredProfile>)
    sink = std::make_unique<Sink>(plan, facts, symbols);
  else
    sink = std::make_unique<Sink>();
  sink->limit(&budget);
  Streams<Sink> streams(facts, *sink, diag);
  read_trace(input, diag, streams);
  streams.finish();
  Limited out;
  auto report = [&](const HistogramProfile& sums, const FilteredProfile* filtered) {
    add_to_report(out.report,
                  {"test.txt", facts, sums, &sums.histograms(), filtered, diag.trust, 1}, symbols);
    out.nodes = sums.tree().size();
  };
  if constexpr (std::is_same_v<Sink, FilteredProfile>)
    report(sink->sums(), sink.get());
  else
    report(*sink, nullptr);
  return out;
}

struct Sums {
  uint64_t self = 0, calls = 0, complete = 0;
  bool operator==(const Sums&) const = default;
};
Sums sums(const Report& report) {
  Sums out;
  for (const auto& f : report.functions) {
    out.self += f.self_ns;
    out.calls += f.calls;
    out.complete += f.complete;
  }
  return out;
}

template <class Sink>
void check(uint64_t seed) {
  const auto text = random_events(seed, 400);
  const Limited all = analyse_limited<Sink>(text, UINT64_MAX);
  ASSERT_TRUE(sums(all.report) == sums(analyse(text).report)) << seed;
  for (uint64_t limit : {1u, 2u, 9u, 20u, 60u}) {
    const Limited part = analyse_limited<Sink>(text, limit);
    const Report& r = part.report;
    ASSERT_TRUE(sums(r) == sums(all.report)) << "seed " << seed << ", limit " << limit;
    ASSERT_EQ(r.self_ns + r.idle_ns + r.gap_ns + r.filtered_ns, r.traced_ns) << seed;
    ASSERT_EQ(r.self_ns, all.report.self_ns) << seed;
    ASSERT_EQ(r.idle_ns, all.report.idle_ns) << seed;
    ASSERT_EQ(inclusive_ns(r.tree)[0], r.self_ns) << seed;
    ASSERT_LE(part.nodes, limit + 2) << seed;  // The root, and its [pruned].
    for (const auto& f : r.functions) {
      ASSERT_LE(f.self_ns, f.inclusive_ns) << seed << ' ' << f.name;
      if (f.name != "[pruned]") continue;
      EXPECT_EQ(f.kind, FunctionKind::kPruned);
      EXPECT_GT(f.calls, 0u);
    }
    const bool has = r.functions.back().kind == FunctionKind::kPruned || all.nodes > part.nodes;
    EXPECT_EQ(has, all.nodes > limit) << "seed " << seed << ", limit " << limit;
  }
}

TEST(NodeLimit, SumsStayWhatTheyAre) {
  for (uint64_t seed = 1; seed <= 200 && !HasFatalFailure(); seed++) check<HistogramProfile>(seed);
}

TEST(NodeLimit, WithFiltersToo) {
  for (uint64_t seed = 1; seed <= 200 && !HasFatalFailure(); seed++) check<FilteredProfile>(seed);
}

// Below their caller, as long as the limit allows it.
TEST(NodeLimit, PrunedCallsHangBelowTheirCaller) {
  std::ostringstream out;
  out << "0 start\n0 ringblock co=1 tid=7 rec=1\n";
  for (int i = 1; i <= 9; i++) out << 10 * i << " entry " << i << '\n';
  for (int i = 9; i >= 1; i--) out << 200 - 10 * i << " return " << i << '\n';
  const Limited part = analyse_limited<HistogramProfile>(trace_text(out.str()), 9);
  const CallTree& tree = part.report.tree;
  ASSERT_EQ(tree.size(), 10u);  // The root, f1 to f8, and what f8 called.
  const NodeId last{9};
  EXPECT_EQ(part.report.functions[tree[last].function].name, "[pruned]");
  EXPECT_EQ(part.report.functions[tree[tree[last].parent].function].name, "f8");
  EXPECT_EQ(tree[last].self, 20u);
  EXPECT_EQ(tree[last].calls, 1u);
}

}  // namespace
}  // namespace luatrace::analyze
