// SPDX-License-Identifier: MIT
// Each point of docs/semantics.md as a small trace whose numbers were worked out by hand.
#include <gtest/gtest.h>

#include "support.h"

namespace luatrace::analyze {
namespace {

TEST(Meaning, CallsAndIdle) {
  auto a = analyse(trace_text(R"(
    100 start
    110 entry 1
    120 entry 2
    150 return 2
    155 entry 2
    160 return 2
    200 return 1
    230 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 90, 90, 55}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{2, 35, 35, 35}));
  EXPECT_EQ(a.function("f2").min_ns, 5u);
  EXPECT_EQ(a.function("f2").max_ns, 30u);
  EXPECT_EQ(a.function("f2").average_ns(), 17u);
  EXPECT_EQ(a.report.idle_ns, 40u);
  EXPECT_EQ(a.report.traced_ns, 130u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.trust().events, 8u);
  EXPECT_TRUE(a.messages.empty());
}

TEST(Meaning, RecursionCountsTimeOnce) {
  auto a = analyse(trace_text(R"(
    0 start
    0 entry 1
    10 entry 1
    20 entry 1
    30 return 1
    40 return 1
    50 return 1
    50 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{3, 50, 50, 50}));
  EXPECT_EQ(a.function("f1").min_ns, 10u);
  EXPECT_EQ(a.function("f1").max_ns, 50u);
  EXPECT_EQ(a.function("f1").average_ns(), 30u);
}

TEST(Meaning, MutualRecursion) {
  auto a = analyse(trace_text(R"(
    0 start
    0 entry 1
    10 entry 2
    20 entry 1
    30 entry 2
    40 return 2
    50 return 1
    60 return 2
    70 return 1
    70 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{2, 70, 70, 40}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{2, 50, 50, 30}));
}

TEST(Meaning, TailCallTakesThePlaceOfItsCaller) {
  auto a = analyse(trace_text(R"(
    0 start
    0 entry 1
    10 entry 2
    15 tail 2
    15 entry 3
    40 return 3
    50 return 1
    50 stop close)"));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 5, 5, 5}));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 25, 25, 25}));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 50, 50, 20}));
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, UnwindEndsCallsAtOneMoment) {
  auto a = analyse(trace_text(R"(
    0 start
    0 entry 1
    10 entry 2
    20 entry 3
    30 unwind 2 top=1
    40 return 1
    40 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 40, 40, 20}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 20, 20, 10}));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 10, 10, 10}));
  EXPECT_EQ(a.trust().unwound, 2u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, UnwindToADepth) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    20 entry 3
    25 entry 4
    30 unwindto 1 top=1
    40 return 1
    40 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 40, 40, 20}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 20, 20, 10}));
  EXPECT_EQ(a.trust().unwound, 3u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, CoroutineRuns40Of240) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    0 create 2
    0 resume 2
    0 entry 2
    10 suspend yield
    10 entry 3
    210 return 3
    210 resume 2
    240 return 2
    240 suspend done
    250 return 1
    250 stop close)"));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 240, 40, 40}));
  EXPECT_EQ(a.function("f2").max_ns, 40u);
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 200, 200, 200}));
  EXPECT_EQ(times_of(a, "f1"),
            (FunctionTimes{1, 250, 250, 10}));  // What it resumed is in its running time.
}

TEST(Meaning, CoroutineInsideCoroutine) {
  // 1 resumes 2, 2 resumes 3, 3 yields to 2, 2 yields to 1, and back in.
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 resume 2
    10 entry 2
    20 resume 3
    20 entry 3
    30 suspend yield
    40 suspend yield
    100 resume 2
    110 resume 3
    120 return 3
    120 suspend done
    130 return 2
    130 suspend done
    140 return 1
    140 stop close)"));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 100, 20, 20}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 120, 60, 40}));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 140, 140, 80}));
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, CoroutinesNestAsDeepAsLuaJitAllows) {
  const int deep = 20000;
  std::string text = "0 start\n0 entry 1\n";
  const auto number = [](int n) { return std::to_string(n); };
  for (int i = 1; i <= deep; i++)
    text += number(i) + " resume " + number(i) + "\n" + number(i) + " entry 2\n";
  for (int i = deep; i >= 1; i--)
    text += number(2 * deep - i) + " return 2\n" + number(2 * deep - i) + " suspend done\n";
  auto a = analyse(trace_text(text + number(2 * deep) + " return 1\n"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 2 * deep, 2 * deep, 2}));
  EXPECT_EQ(a.function("f2").calls, static_cast<uint64_t>(deep));
  EXPECT_EQ(a.function("f2").inclusive_ns, static_cast<uint64_t>(2 * deep - 2));
}

TEST(Meaning, CoroutineResumedFromTwoPlacesHangsBelowBoth) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    0 resume 2
    0 entry 3
    10 suspend yield
    10 return 1
    10 entry 2
    10 resume 2
    40 return 3
    40 suspend done
    40 return 2
    40 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 10, 10, 0}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 30, 30, 0}));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 40, 40, 40}));
  EXPECT_EQ(a.report.tree.size(), 5u);  // Root, f1, f1;f3, f2, f2;f3.
}

TEST(Meaning, SwitchSuspendsTheWholeChain) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    0 resume 2
    0 entry 2
    10 switch 3
    10 entry 3
    30 return 3
    30 switch 2
    40 return 2
    40 suspend done
    50 return 1
    50 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 50, 30, 10}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 40, 20, 20}));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 20, 20, 20}));
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, StackReportAndOpenAtBothEnds) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 activate n=2
    0 frame 1
    0 frame 2
    10 return 2
    20 entry 3
    50 stop detach)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{0, 50, 50, 10}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{0, 10, 10, 10}));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 30, 30, 30}));
  EXPECT_EQ(a.function("f2").complete, 0u);
  EXPECT_EQ(a.function("f3").complete, 0u);
  EXPECT_EQ(a.trust().open_start, 2u);
  EXPECT_EQ(a.trust().open_end, 2u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

// As the VM does it: the loss is reported in the next block for which there is space, whose own
// time is after the gap.
TEST(Meaning, ALossThatOpensABlockIsTheTimeBeforeIt) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    block 1 seq=1 base=1000
    1000 ringblock co=1 tid=7 rec=1
    1000 loss 5 since=30
    1000 stack 1 loss n=2
    1000 frame 1
    1000 frame 2
    1020 return 2
    1030 return 1
    1030 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 60, 60, 20}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 40, 40, 40}));
  EXPECT_EQ(a.report.gap_ns, 970u);
  EXPECT_EQ(a.trust().lost, 5u);
  EXPECT_EQ(a.trust().anomalies(), 5u);
  EXPECT_EQ(a.trust().open_gap, 2u);
  EXPECT_EQ(a.trust().clock_anomalies, 0u);
  EXPECT_EQ(a.report.traced_ns, 1030u);
}

TEST(Meaning, LossCutsEverythingAndNothingIsGuessed) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    100 loss 5 since=20
    100 stack 1 loss n=1
    100 frame 1
    130 return 1
    130 stop close)"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 50, 50, 40}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 10, 10, 10}));
  EXPECT_EQ(a.report.gap_ns, 80u);
  EXPECT_EQ(a.trust().lost, 5u);
  EXPECT_EQ(a.trust().anomalies(), 5u);
  EXPECT_EQ(a.trust().open_gap, 2u);
  EXPECT_EQ(a.trust().open_start, 0u);
  EXPECT_EQ(a.report.traced_ns, a.report.self_ns + a.report.idle_ns + a.report.gap_ns);
}

TEST(Meaning, ForkedChildReportsItsStack) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 fork n=1
    0 frame 1
    10 return 1
    10 stop close)"));
  EXPECT_EQ(a.trust().open_start, 1u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, AbandonedCoroutine) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    0 resume 2
    0 entry 2
    10 suspend yield
    50 collect 2
    60 return 1
    60 stop close)"));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 50, 10, 10}));
  EXPECT_EQ(a.trust().abandoned, 1u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, ErrorEndsTheCoroutinesCalls) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    0 resume 2
    0 entry 2
    5 entry 3
    10 suspend error
    60 return 1
    60 stop close)"));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 10, 10, 5}));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 5, 5, 5}));
  EXPECT_EQ(a.trust().unwound, 2u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, ReturnOfADeeperCallTruncatesThoseAbove) {
  auto a =
      analyse(trace_text("0 start\n0 entry 1\n10 entry 2\n20 entry 3\n30 return 1\n40 stop close"));
  EXPECT_EQ(a.trust().truncated, 2u);
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 30, 30, 10}));
  EXPECT_EQ(a.function("f2").complete, 0u);
}

TEST(Meaning, ReturnWithoutEntryIsUnbalancedOrInferred) {
  auto a = analyse(trace_text("0 start\n0 entry 1\n10 return 2\n20 return 1\n20 stop close"));
  EXPECT_EQ(a.trust().unbalanced, 1u);
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 20, 20, 20}));
  // After a missing block the caller is not known: its return says that there was one.
  auto b = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 entry 1
    block 1 seq=2 base=50 co=1
    60 entry 2
    70 return 2
    80 return 1
    90 stop close)"));
  EXPECT_EQ(b.trust().inferred, 1u);
  EXPECT_EQ(b.trust().missing_blocks, 1u);
  EXPECT_EQ(b.trust().unbalanced, 0u);
  EXPECT_EQ(b.function("f1").calls, 1u);
  EXPECT_EQ(b.report.gap_ns, 60u + 20u);  // The missing block, and time below an unknown caller.
  EXPECT_EQ(b.report.traced_ns, b.report.self_ns + b.report.idle_ns + b.report.gap_ns);
}

TEST(Meaning, ClockStepBackIsAnAnomalyNotAWrap) {
  auto a =
      analyse(trace_text("block 1 seq=0 base=100\n100 start\n100 entry 1\n200 entry 2\n150 return "
                         "2\n300 return 1\n300 stop close"));
  EXPECT_EQ(a.trust().clock_anomalies, 1u);
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 200, 200, 200}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 0, 0, 0}));
}

TEST(Meaning, TimeIsUnwrappedByFullClocks) {
  // Far more than one turn of 2^40 ticks.
  auto a = analyse(trace_text(
      "0 start\n0 entry 1\n5000000000000 time\n5000000000010 return 1\n5000000000010 stop close"));
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 5000000000010, 5000000000010, 5000000000010}));
  EXPECT_EQ(a.trust().clock_anomalies, 0u);
}

TEST(Meaning, FunctionIdsBeyond21Bits) {
  auto a =
      analyse(trace_text("func 1:3000000 lua line=1 chunk=\"@y\" name=\"big\"\n0 start\n0 entry "
                         "3000000\n10 entry 1\n20 return 1\n30 return 3000000\n30 stop close"));
  EXPECT_EQ(times_of(a, "big"), (FunctionTimes{1, 30, 30, 20}));
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, FunctionsAreMergedByIdentity) {
  auto a = analyse(trace_text(R"(
    func 1:20 lua line=10 chunk="@dir/x.lua" name="other"
    func 1:21 ff name="string.gsub" addr=0x10
    func 2:1 ff name="string.gsub" addr=0x20
    func 2:2 lua line=10 chunk="@dir/x.lua"
    0 start
    0 entry 1
    1 return 1
    2 entry 20
    3 return 20
    3 entry 21
    4 return 21
    5 stop close)") +
                   "");
  EXPECT_EQ(a.function("f1").calls, 2u);
  EXPECT_EQ(a.function("string.gsub").calls, 1u);
}

// Control goes to the outermost coroutine, which ends its call and makes another one, and from
// there straight to the innermost: what the innermost runs from then on is below the other call.
TEST(Meaning, SwitchIntoAChainWhoseOutermostHasMovedOn) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    0 resume 2
    0 entry 2
    0 resume 3
    0 entry 3
    10 switch 1
    10 return 1
    10 entry 4
    20 switch 3
    30 return 3
    30 suspend done
    40 return 2
    40 suspend done
    50 return 4
    50 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(times_of(a, "f1"), (FunctionTimes{1, 10, 10, 0}));
  EXPECT_EQ(times_of(a, "f2"), (FunctionTimes{1, 40, 30, 10}));
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 30, 20, 20}));
  EXPECT_EQ(times_of(a, "f4"), (FunctionTimes{1, 40, 40, 20}));
}

TEST(Meaning, CallsDump) {
  EXPECT_EQ(dump_calls(trace_text(R"(
    func 1:30 ff name="string.gsub"
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    1 entry 2
    2 entry 30
    3 unwind 2 top=1
    4 create 2
    4 resume 2
    4 entry 3
    5 tail 3
    5 entry 4
    6 suspend error
    7 return 1
    8 stop close)")),
            "S1 C0 D0 start 0\n"
            "S1 C1 D1 entry x.lua:10\n"
            "S1 C1 D2 entry x.lua:20\n"
            "S1 C1 D3 entry C:string.gsub\n"
            "S1 C1 D3 unwind C:string.gsub\n"
            "S1 C1 D2 unwind x.lua:20\n"
            "S1 C1 D1 create 2\n"
            "S1 C1 D1 resume 2\n"
            "S1 C2 D1 entry x.lua:30\n"
            "S1 C2 D1 tail x.lua:30\n"
            "S1 C2 D1 entry x.lua:40\n"
            "S1 C2 D1 unwind x.lua:40\n"
            "S1 C2 D0 suspend error\n"
            "S1 C1 D1 return x.lua:10\n"
            "S1 C1 D0 stop close\n");
}

// What a gap makes unknown is known again in the next recording: no call is open when it begins.
TEST(Meaning, AGapEndsWithItsRecording) {
  auto a = analyse(trace_text(R"(
    0 start
    0 entry 1
    20 loss 3 since=10
    30 return 2
    40 stop detach
    100 start
    110 entry 3
    120 return 3
    130 return 4
    140 stop close)"));
  EXPECT_EQ(a.trust().inferred, 1u);    // f2: may have begun in the gap.
  EXPECT_EQ(a.trust().unbalanced, 1u);  // f4 cannot have.
  EXPECT_EQ(a.report.gap_ns, 30u);      // The gap, and what is not known after it.
  EXPECT_EQ(a.report.idle_ns, 30u);     // All of the second recording but f3.
  EXPECT_EQ(times_of(a, "f3"), (FunctionTimes{1, 10, 10, 10}));
}

}  // namespace
}  // namespace luatrace::analyze
