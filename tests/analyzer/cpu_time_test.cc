// SPDX-License-Identifier: MIT
// CPU times: small traces, as in meaning_test.cc.
#include <gtest/gtest.h>

#include "support.h"

namespace luatrace::analyze {
namespace {

TEST(Meaning, CpuTimeIsWithoutAbsences) {
  auto a = analyse(trace_text(R"(
    0 start
    3 cpu unknown ticks=3
    10 entry 1
    20 entry 2
    90 cpu off ticks=60
    100 return 2
    130 cpu preempted ticks=20
    150 entry 2
    160 return 2
    200 return 1
    290 cpu off ticks=80
    300 stop close)"));
  EXPECT_TRUE(a.report.cpu.known());
  EXPECT_EQ(a.report.cpu.unknown_ns, 3u);
  EXPECT_EQ(a.report.cpu.preempted_ns, 20u);
  EXPECT_EQ(a.function("f1").cpu_ns, 190u - 80);
  EXPECT_EQ(a.function("f1").self_cpu_ns, 100u - 20);
  EXPECT_EQ(a.function("f2").cpu_ns, 90u - 60);
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 190, 190, 100}));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.trust().unknown, 0u);
}

// More than there was; of a stack that is being reported; without the word.
TEST(Meaning, AbsencesWithNonsense) {
  auto a = analyse(trace_text(R"(
    0 start
    10 cpu off ticks=18446744073709551615
    20 stack 2 activate n=1
    20 cpu preempted ticks=5
    20 frame 1
    30 ext 19 arg=7 0x5
    40 ext 19 arg=0
    50 return 1
    60 stop close)"));
  EXPECT_EQ(a.function("f1").cpu_ns, 30u);
  EXPECT_EQ(a.report.cpu.unknown_ns, 5u);
  EXPECT_EQ(a.report.cpu.cut_ns, 0u);
  EXPECT_EQ(a.trust().bad_records, 1u);
}

// All absences together are no longer than the time that passed.
TEST(Meaning, AbsencesAreNoLongerThanTheTimeThatPassed) {
  auto a = analyse(trace_text(R"(
    0 start
    10 entry 1
    20 entry 2
    80 return 2
    100 cpu off ticks=70
    120 cpu preempted ticks=60
    200 return 1
    300 stop close)"));
  EXPECT_EQ(a.function("f2").cpu_ns, 60u);
  EXPECT_EQ(a.function("f1").cpu_ns, 190u - 70 - 50);
  EXPECT_EQ(a.report.cpu.preempted_ns, 50u);
  EXPECT_EQ(a.report.cpu.cut_ns, 10u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

// Those of a call are no longer than its self time.
TEST(Meaning, AbsencesAreNoLongerThanTheCall) {
  auto a = analyse(trace_text(R"(
    0 start
    0 entry 1
    90 entry 2
    100 cpu off ticks=60
    100 return 2
    110 return 1
    110 stop close)"));
  EXPECT_EQ(a.function("f2").cpu_ns, 0u);
  EXPECT_EQ(a.function("f1").cpu_ns, 100u);
  EXPECT_EQ(a.report.cpu.cut_ns, 50u);
}

// The recorder may write what was before a block after the records that a block begins with, or
// after a few events: it is not cut.
TEST(Meaning, AbsencesThatComeLate) {
  const auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    60 ringblock co=1 tid=7 rec=1
    60 time
    block 1 seq=1 base=60
    60 cpu off ticks=40
    70 entry 2
    75 return 2
    90 ringblock co=1 tid=7 rec=1
    90 time
    90 cpu off ticks=20
    100 return 1
    100 stop close)"));
  EXPECT_EQ(a.function("f1").cpu_ns, 100u - 40 - 20);
  EXPECT_EQ(a.function("f2").cpu_ns, 5u);
  EXPECT_EQ(a.report.cpu.cut_ns, 0u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

// In a gap nothing is known, so nothing contradicts it; but that time is no call's.
TEST(Meaning, AbsencesInAGap) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    100 loss 5 since=20
    100 stack 1 loss n=1
    100 frame 1
    120 cpu off ticks=110
    130 return 1
    130 stop close)"));
  EXPECT_EQ(a.function("f1").cpu_ns, 50u - 20);
  EXPECT_EQ(a.function("f2").cpu_ns, 10u);
  EXPECT_EQ(a.report.cpu.cut_ns, 0u);
}

// Sums of records that say the impossible again and again stay possible.
TEST(Meaning, AbsencesWithoutEnd) {
  std::string events = "0 start\n0 entry 1\n";
  for (int i = 0; i < 100; i++)
    events +=
        "50 cpu off ticks=18446744073709551615\n50 cpu preempted ticks=9223372036854775808\n"
        "50 cpu unknown ticks=18446744073709551615\n";
  const auto a = analyse(trace_text(events + "60 return 1\n60 stop close"));
  EXPECT_EQ(a.function("f1").cpu_ns, 10u);
  EXPECT_EQ(a.report.cpu.preempted_ns, 0u);
  EXPECT_EQ(a.report.cpu.unknown_ns, 60u);
  EXPECT_EQ(a.report.cpu.cut_ns, 199u * 50);
}

TEST(Meaning, WithoutAbsencesCpuTimeIsNotKnown) {
  auto a = analyse(trace_text(R"(
    0 start
    10 entry 1
    20 return 1
    30 stop close)"));
  EXPECT_FALSE(a.report.cpu.known());
  EXPECT_FALSE(a.function("f1").has_cpu_times());
}

}  // namespace
}  // namespace luatrace::analyze
