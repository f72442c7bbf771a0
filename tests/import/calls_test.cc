// SPDX-License-Identifier: MIT
// Calls, coroutines and stacks: what an outside tracer saw becomes what the VM would have recorded.
#include <gtest/gtest.h>

#include "import_support.h"

namespace luatrace::analyze::test {
namespace {

TEST(Import, Calls) {
  EXPECT_EQ(both(kCalls), named("S1 C1 D0 stack activate\n"
                                "S1 C1 D1 entry f1\n"
                                "S1 C1 D2 entry f2\n"
                                "S1 C1 D2 return f2\n"
                                "S1 C1 D2 entry f3\n"
                                "S1 C1 D2 tail f3\n"
                                "S1 C1 D2 entry f2\n"
                                "S1 C1 D2 return f2\n"
                                "S1 C1 D1 return f1\n"
                                "S1 C1 D0 stop close\n"));
  const Analysed a = analysed(kCalls);
  EXPECT_EQ(a.trust().anomalies(), 0u) << testing::PrintToString(a.messages);
  EXPECT_EQ(a.function("f2").calls, 2u);
  EXPECT_EQ(a.function("f1").inclusive_ns, 0x60u);
  EXPECT_EQ(a.function("f2").chunk, "@dir/" + kFile);
  ASSERT_EQ(a.report.files.size(), 1u);
  ASSERT_EQ(a.report.files[0].processes.size(), 1u);
  EXPECT_EQ(a.report.files[0].processes[0].pid, 7);
  EXPECT_EQ(a.report.files[0].processes[0].exe, "luajit");
}

TEST(Import, Coroutines) {
  EXPECT_EQ(both(kCoroutines), named("S1 C1 D0 stack activate\n"
                                     "S1 C1 D1 entry f1\n"
                                     "S1 C1 D1 create 2\n"
                                     "S1 C1 D1 resume 2\n"
                                     "S1 C2 D1 entry f2\n"
                                     "S1 C2 D1 suspend yield\n"
                                     "S1 C1 D2 entry f3\n"
                                     "S1 C1 D2 return f3\n"
                                     "S1 C1 D1 resume 2\n"
                                     "S1 C2 D1 return f2\n"
                                     "S1 C2 D0 suspend done\n"
                                     "S1 C1 D1 collect 2\n"
                                     "S1 C1 D1 create 3\n"
                                     "S1 C1 D1 resume 3\n"
                                     "S1 C3 D1 entry f4\n"
                                     "S1 C3 D2 entry f4\n"
                                     "S1 C3 D2 unwind f4\n"
                                     "S1 C3 D1 unwind f4\n"
                                     "S1 C3 D0 suspend error\n"
                                     "S1 C1 D1 return f1\n"
                                     "S1 C1 D0 stop close\n"));
  EXPECT_EQ(analysed(kCoroutines).trust().anomalies(), 0u);
}

TEST(Import, UnwindCountsTheCallsAboveASlot) {
  EXPECT_EQ(both(R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      E @30 a0 2 8
      E @40 a0 3 c
      E @50 a0 4 10
      U @60 a0 8
      R @70 a0 2 8
      U @80 a0 2)"),
            named("S1 C1 D0 stack activate\n"
                  "S1 C1 D1 entry f1\n"
                  "S1 C1 D2 entry f2\n"
                  "S1 C1 D3 entry f3\n"
                  "S1 C1 D4 entry f4\n"
                  "S1 C1 D4 unwind f4\n"
                  "S1 C1 D3 unwind f3\n"
                  "S1 C1 D2 return f2\n"
                  "S1 C1 D1 unwind f1\n"));
}

// The VM does not report that another coroutine runs without having been resumed: the calls show
// it.
TEST(Import, ASwitchIsSeenByItsCalls) {
  EXPECT_EQ(both(R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      c @30 a0 c0 2
      E @40 c0 2 4
      R @50 c0 2 4
      R @60 a0 1 4)"),
            named("S1 C1 D0 stack activate\n"
                  "S1 C1 D1 entry f1\n"
                  "S1 C1 D1 create 2\n"
                  "S1 C1 D1 switch 2\n"
                  "S1 C2 D1 entry f2\n"
                  "S1 C2 D1 return f2\n"
                  "S1 C2 D0 switch 1\n"
                  "S1 C1 D1 return f1\n"));
}

// -- Attaching and leaving --

TEST(Import, CallsAlreadyRunningAreNoCalls) {
  const char* const hits = R"(
      S @10 a0 1 2 0 90
      E @11 a0 1 4
      E @12 a0 2 8
      R @30 a0 2 8
      r @40 a0 c0 2
      S @41 c0 2 1 1 90
      E @42 c0 3 4
      y @50 c0 c0 2
      R @60 a0 1 4)";
  EXPECT_EQ(both(hits), named("S1 C1 D0 stack activate\n"
                              "S1 C1 D1 frame f1\n"
                              "S1 C1 D2 frame f2\n"
                              "S1 C1 D2 return f2\n"
                              "S1 C1 D1 resume 2\n"
                              "S1 C2 D0 stack resumed\n"
                              "S1 C2 D1 frame f3\n"
                              "S1 C2 D1 suspend yield\n"
                              "S1 C1 D1 return f1\n"));
  const Analysed a = analysed(hits);
  EXPECT_EQ(a.function("f1").calls, 0u);
  EXPECT_EQ(a.trust().open_start, 3u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

// The tracer attaches to one probe after the other; the report comes when it has all.
TEST(Import, WhatComesBeforeTheFirstReportIsLeftOut) {
  const Analysed a = analysed(R"(
      R @5 a0 7 14
      E @6 a0 7 14
      y @7 c0 c0 9
      S @10 a0 1 1 0 90
      E @11 a0 1 4
      E @20 a0 2 8
      R @30 a0 2 8
      R @40 a0 1 4)");
  EXPECT_EQ(a.trust().anomalies(), 0u) << testing::PrintToString(a.messages);
  EXPECT_EQ(a.function("f2").calls, 1u);
  for (const auto& f : a.report.functions) EXPECT_NE(f.name, "f7");
}

TEST(Import, AReportThatSaysNothingNewClosesNoCall) {
  const Analysed a = analysed(R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      S @30 a0 1 1 0 90
      E @31 a0 1 4
      R @40 a0 1 4)");
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.function("f1").calls, 1u);
  EXPECT_EQ(a.function("f1").complete, 1u);
}

// A forked child makes no report. After a while it is taken as it is.
TEST(Import, AProcessWithoutReportIsNotForgotten) {
  const Analysed a = analysed(R"(
      E @20 a0 1 4
      R @30 a0 1 4
      E @40 a0 2 4
      R @50 a0 2 4)");
  EXPECT_EQ(a.function("f2").complete, 1u);
  EXPECT_EQ(a.trust().lost, 0u);  // Both are at the bottom: nothing was running below them.
}

}  // namespace
}  // namespace luatrace::analyze::test
