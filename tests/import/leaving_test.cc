// SPDX-License-Identifier: MIT
// Hits that an outside tracer had not read, or read too late, when it detached.
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "import_support.h"

namespace luatrace::analyze::test {
namespace {

// Hits after the last beat were seen by some probes only.
TEST(Import, WhatComesWhileTheTracerLeavesIsLeftOut) {
  std::string hits = kCalls;
  hits = hits.substr(0, hits.find("X @90"));
  hits += "E @1000000 a0 1 4\n E @2000001 a0 2 8\n E @2000002 a0 2 8\n E @2000003 a0 2 8\n";
  const Analysed a = analysed(hits);
  EXPECT_EQ(a.trust().anomalies(), 0u) << testing::PrintToString(a.messages);
  EXPECT_EQ(a.function("f1").calls, 2u);
  EXPECT_EQ(a.trust().open_end, 1u);
}

// The end of bpftrace's output: each thread's total, and its hits after the last beat.
std::string leaving(const std::vector<std::array<uint32_t, 3>>& threads) {
  std::ostringstream out;
  const uint64_t beat = kStart + 0x1000000;
  out << "\n@beat: " << beat << "\n";
  for (const auto& [tid, all, late] : threads) {
    if (late) out << "@late_beat[" << tid << "]: " << beat << "\n";
    if (late) out << "@late_hits[" << tid << "]: " << late << "\n";
    out << "@seq[" << tid << "]: " << all << "\n";
  }
  return out.str();
}

// bpftrace that is told to end throws away what it has not read. The trace is over where that
// begins.
TEST(Import, WhatTheTracerHadNotReadWhenItLeftIsNoLoss) {
  const std::string hits = bt_text(R"(
      S %70 @10 a0 1 0 0 90
      E %70 @20 a0 1 4
      S %71 @21 b0 1 0 0 91
      E %71 @22 b0 2 4
      E %70 @30 a0 3 8
      E %71 @40 b0 4 8
      E %71 @41 b0 5 c)",
                                   false);
  const Analysed busy = analyse(hits + leaving({{0x70, 900, 500}, {0x71, 800, 500}}));
  EXPECT_EQ(busy.trust().anomalies(), 0u) << testing::PrintToString(busy.messages);
  EXPECT_EQ(busy.trust().open_end, 3u);  // Thread 71 is known for longer, by two calls.
  EXPECT_EQ(busy.function("f3").calls, 1u);
  EXPECT_TRUE(std::none_of(busy.report.functions.begin(), busy.report.functions.end(),
                           [](const auto& f) { return f.name == "f4"; }));
  // One that was over or silent by then lost its last hits.
  const Analysed silent = analyse(hits + leaving({{0x70, 3, 0}, {0x71, 800, 0}}));
  EXPECT_EQ(silent.trust().lost, 796u);
  // Both are losses if bpftrace reports that a buffer was too small.
  const Analysed small =
      analyse(hits + "Lost 7 events\n" + leaving({{0x70, 900, 500}, {0x71, 800, 500}}));
  EXPECT_EQ(small.trust().lost, 397u + 296u);
}

// The buffer of the processor that the thread has just left was not read, that of the other one
// was.
TEST(Import, AHoleBeforeTheTracerLeftEndsTheTrace) {
  const std::string hits = bt_text(R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      R @30 a0 1 4
      E :50 @40 a0 2 4
      E :51 @50 a0 3 8
      E :52 @60 a0 3 c)",
                                   false);
  const Analysed busy = analyse(hits + leaving({{0x70, 900, 500}}));
  EXPECT_EQ(busy.trust().anomalies(), 0u) << testing::PrintToString(busy.messages);
  EXPECT_EQ(busy.trust().open_end, 0u);
  const Analysed silent = analyse(hits + leaving({{0x70, 0x52, 0}}));
  EXPECT_EQ(silent.trust().lost, 0x4cu);
}

}  // namespace
}  // namespace luatrace::analyze::test
