// SPDX-License-Identifier: MIT
// --group-by label:KEY on any trace: against the time that each stretch of a coroutine has by its
// label at that moment; ranges, threads and runs make no difference; how many values are groups.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "analyzer/collect/call_consumer.h"
#include "analyzer/pipeline.h"
#include "request_traces.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

using Times = std::map<std::string, uint64_t>;

std::string value_of(const Coroutine& co) {
  if (co.labels)
    for (const Label& l : *co.labels)
      if (l.key == "k") return l.value;
  return kNoLabel;
}

// Adds up what runs, by the label of its coroutine.
class Ledger final : public CallConsumer, public CallObserver {
 public:
  CallObserver& begin_file(const FilterPlan&, const TraceFacts&, const SymbolFinder&) override {
    return *this;
  }
  void end_file() override {}
  void opened(const Coroutine&, StreamId, ThreadId, FunctionId, uint64_t) override {}
  void closed(const Coroutine&, StreamId, uint64_t, const CallEnd&) override {}
  void moved(const Coroutine&, StreamId, ThreadId, uint64_t, const std::vector<Open>&) override {}
  void add_self_time(StackMachine<FilteredProfile>& machine, StreamId, uint64_t from, uint64_t to,
                     Owner owner) override {
    if (owner == Owner::kCall && to > from) times[value_of(machine.current())] += to - from;
  }
  void gone(const Coroutine&, StreamId, uint64_t) override {}
  Times times;
};

Report report_of(const std::vector<uint8_t>& bytes, const PipelineOptions& options,
                 Ledger* ledger = nullptr) {
  Pipeline pipeline(options, [](const std::string&) {});
  if (ledger) pipeline.add(*ledger);
  Input input("test.bin", bytes);
  Diagnostics diag("test.bin", [](const std::string&) {});
  pipeline.read(input, diag);
  return pipeline.finish();
}

PipelineOptions grouped(size_t values = 100) {
  PipelineOptions options;
  options.jobs = 1;
  options.filter.group = GroupBy::kLabel;
  options.filter.label = "k";
  options.filter.label_groups = values;
  return options;
}

// Time in each group, of what runs.
Times times(const Report& r) {
  Times out;
  std::vector<uint32_t> root(r.tree.size());
  for (NodeId i{1}; i < r.tree.size(); ++i) {
    const uint32_t above = r.tree[i].parent;
    root[i] = above ? root[above] : r.tree[i].function;
    if (r.tree[i].self && r.tree[i].function != kReportUnknown)
      out[r.functions[root[i]].name] += r.tree[i].self;
  }
  return out;
}

// The requests of the trace as labels, which coroutines get, change, inherit and lose.
std::string random_labels(uint64_t seed) {
  const std::string text = with_requests(random_trace(seed, "mult=1 shift=0"), seed);
  const std::string without =
      std::regex_replace(text, std::regex(" request (\\d+) 0\n"), " label $1 \"k\" \"\"\n");
  return std::regex_replace(without, std::regex(" request (\\d+) (\\d+)\n"),
                            " label $1 \"k\" \"v$2\"\n");
}

TEST(LabelGroups, HaveTheTimeOfTheLabelOfWhatRuns) {
  size_t found = 0;
  for (uint64_t seed = 1; seed <= seeds(400); seed++) {
    const std::string text = random_labels(seed);
    const std::vector<uint8_t> bytes = maybe_damaged(text, seed);
    Ledger ledger;
    EXPECT_EQ(times(report_of(bytes, grouped(), &ledger)), ledger.times);
    PipelineOptions calls = grouped(), parallel = grouped();
    calls.threads = true;  // Needs single calls: no runs.
    parallel.jobs = 3;
    EXPECT_EQ(times(report_of(bytes, grouped())), ledger.times);
    EXPECT_EQ(times(report_of(bytes, calls)), ledger.times);
    EXPECT_EQ(times(report_of(bytes, parallel)), ledger.times);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
    found += ledger.times.size() > 2;
  }
  EXPECT_GT(found, seeds(100));
}

TEST(LabelGroups, RangesAddUp) {
  for (uint64_t seed = 1; seed <= seeds(200); seed++) {
    const std::vector<uint8_t> bytes = to_binary(random_labels(seed));
    Times sum;
    for (const uint64_t part : {0, 1, 2}) {
      PipelineOptions options = grouped();
      const uint64_t at[] = {0, 200 + seed, 900};
      if (part) options.filter.from = {TimePoint::kRelative, at[part]};
      if (part < 2) options.filter.to = {TimePoint::kRelative, at[part + 1]};
      for (const auto& [name, ns] : times(report_of(bytes, options))) sum[name] += ns;
    }
    EXPECT_EQ(sum, times(report_of(bytes, grouped()))) << "seed " << seed;
  }
}

// Of `count` values, each with 1 ns more than the one before it.
std::string values_of(int count) {
  std::ostringstream out;
  int at = 10;
  out << "1 start\n1 ringblock co=1 tid=7 rec=1\n1 entry 1\n";
  for (int i = 1; i <= count; at += i, i++)
    out << at << " label 1 \"k\" \"" << i << "\"\n" << at + i << " time\n";
  out << at << " return 1\n";
  return trace_text(out.str());
}

TEST(LabelGroups, OnlyTheValuesWithTheMostTimeHaveTheirOwn) {
  EXPECT_EQ(times(report_of(to_binary(values_of(5)), grouped(2))),
            (Times{{kNoLabel, 9}, {kOtherValues, 1 + 2 + 3}, {"4", 4}, {"5", 5}}));
  EXPECT_EQ(times(report_of(to_binary(values_of(300)), grouped())).size(), 102u);
}

// A stack of calls that moves with each change costs no more than the work budget has.
TEST(LabelGroups, ManyChangesOfADeepStackCostLittle) {
  std::ostringstream out;
  for (int i = 0; i < 20000; i++) out << "10 entry 1\n";
  for (int i = 0; i < 20000; i++)
    out << 20 + 2 * i << " label 1 \"k\" \"" << 1 + i % 2 << "\"\n" << 21 + 2 * i << " time\n";
  const Report r = report_of(
      to_binary(trace_text("1 start\n1 ringblock co=1 tid=7 rec=1\n" + out.str())), grouped());
  EXPECT_EQ(r.self_ns + r.idle_ns + r.gap_ns + r.filtered_ns, r.traced_ns);
  EXPECT_GT(r.trust.unbalanced, 0u);
}

}  // namespace
}  // namespace luatrace::analyze
