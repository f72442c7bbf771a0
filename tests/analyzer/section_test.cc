// SPDX-License-Identifier: MIT
// Sections, steps of the collector and runs of the compiler are calls: small traces, as in
// meaning_test.cc.
#include <gtest/gtest.h>

#include "support.h"

namespace luatrace::analyze {
namespace {

// -- Sections --

TEST(Meaning, SectionsAreCallsOfTheirNames) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 activate n=0
    0 entry 1
    10 section 1 begin "db"
    15 entry 2
    25 return 2
    30 section 1 end "db"
    40 return 1
    50 stop close)"));
  EXPECT_EQ(times_of(a, "[section] db"), (FunctionTimes{1, 20, 20, 10}));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 40, 40, 20}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 10, 10, 10}));
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

// A section is in the stack as long as that is a tree.
TEST(Meaning, SectionsThatAreNotNestedLikeCalls) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 activate n=0
    0 entry 1
    10 section 1 begin "stopped below"
    20 entry 2
    30 section 1 end "stopped below"
    40 entry 3
    45 return 3
    50 return 2
    60 entry 2
    70 section 1 begin "started below"
    80 return 2
    90 section 1 end "started below"
    100 section 1 begin "first"
    110 section 1 begin "second"
    120 section 1 end "first"
    130 section 1 end "second"
    140 section 1 end "never begun"
    150 section 1 open "before"
    160 section 2 begin "of a coroutine that does not run"
    200 return 1
    200 stop close)"));
  EXPECT_EQ(times_of(a, "[section] stopped below"), (FunctionTimes{1, 40, 40, 10}));
  EXPECT_EQ(times_of(a, "[section] started below"), (FunctionTimes{1, 10, 10, 10}));
  EXPECT_EQ(times_of(a, "[section] first"), (FunctionTimes{1, 30, 30, 10}));
  EXPECT_EQ(times_of(a, "[section] second"), (FunctionTimes{1, 20, 20, 20}));
  EXPECT_EQ(times_of(a, "[section] before").self, 50u);  // As far as it is recorded; no call.
  EXPECT_EQ(times_of(a, "[section] before").calls, 0u);
  EXPECT_EQ(times_of(a, "f1").self, 200u - 40 - 20 - 30 - 50);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, ErrorsAndCoroutinesEndSections) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 activate n=0
    0 entry 1
    10 section 1 begin "outside"
    20 entry 2
    30 section 1 begin "inside"
    40 entry 3
    50 unwind 2 top=1
    60 section 1 end "inside"
    70 section 1 end "outside"
    80 create 2
    80 resume 2
    80 entry 4
    90 section 2 begin "suspended"
    100 suspend yield
    150 resume 2
    160 section 2 end "suspended"
    170 section 2 begin "at the end"
    180 return 4
    180 suspend done
    200 return 1
    200 stop close)"));
  EXPECT_EQ(times_of(a, "[section] outside"), (FunctionTimes{1, 60, 60, 30}));
  EXPECT_EQ(times_of(a, "[section] inside"), (FunctionTimes{1, 20, 20, 10}));
  EXPECT_EQ(times_of(a, "[section] suspended"), (FunctionTimes{1, 70, 20, 20}));
  EXPECT_EQ(times_of(a, "[section] at the end"), (FunctionTimes{1, 10, 10, 10}));
  EXPECT_EQ(a.trust().unwound, 2u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

// -- Collector and compiler --

// Collector and compiler are calls; what a finalizer calls is inside the step.
TEST(Meaning, CollectorIsACall) {
  auto a = analyse(trace_text(R"(
    func 1:20 ff ffid=4294901761 name="[GC]"
    func 1:21 ff ffid=4294901763 name="a reason"
    0 start
    0 entry 1
    10 gc start state=0 bytes=100
    10 entry 20
    12 entry 2
    13 entry 20
    15 return 20
    16 return 2
    20 return 20
    20 gc end state=3 bytes=50 full=1
    21 trace abort 1 b=21 x=1 y=12
    50 return 1
    50 stop close)"));
  EXPECT_EQ(times_of(a, "[GC]"), (FunctionTimes{2, 10, 10, 8}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 4, 4, 2}));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 50, 50, 40}));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.trust().unknown, 0u);
  for (const ReportFunction& f : a.report.functions) EXPECT_NE(f.name, "a reason");
}

// An end without a beginning, a beginning without an end, records with nonsense: counted, and no
// time is lost.
TEST(Meaning, CollectorWithoutAnEnd) {
  auto a = analyse(trace_text(R"(
    func 1:20 ff ffid=4294901761 name="[GC]"
    0 start
    0 entry 1
    5 return 20
    10 entry 20
    20 return 1
    21 gc end state=511 bytes=18446744073709551615
    22 trace stop 65535 a=65535 b=4294967295 x=4294967295 y=4294967295 flag=1
    23 ext 14 arg=2047 0x1
    24 ext 13 arg=2047
    30 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 20, 20, 10}));
  EXPECT_EQ(a.function("[GC]").self_ns, 10u);
  EXPECT_EQ(a.report.idle_ns, 10u);
  EXPECT_EQ(a.trust().unbalanced, 1u);
  EXPECT_EQ(a.trust().truncated, 1u);
  EXPECT_EQ(a.trust().bad_records, 1u);  // The record without its word.
}

}  // namespace
}  // namespace luatrace::analyze
