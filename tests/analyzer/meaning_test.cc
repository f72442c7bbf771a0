// SPDX-License-Identifier: MIT
// Each point of docs/semantics.md as a small trace whose numbers were worked out by hand.
#include <gtest/gtest.h>

#include "support.h"

namespace luatrace::analyze {
namespace {

struct Times {
  uint64_t calls, wall, running, self;
  bool operator==(const Times&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Times& t) {
  return out << "calls " << t.calls << " wall " << t.wall << " running " << t.running << " self "
             << t.self;
}
Times times(const Analysed& a, const std::string& name) {
  const ReportFunction& f = a.function(name);
  return {f.calls, f.wall_ns, f.inclusive_ns, f.self_ns};
}

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
  EXPECT_EQ(times(a, "f1"), (Times{1, 90, 90, 55}));
  EXPECT_EQ(times(a, "f2"), (Times{2, 35, 35, 35}));
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
  EXPECT_EQ(times(a, "f1"), (Times{3, 50, 50, 50}));
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
  EXPECT_EQ(times(a, "f1"), (Times{2, 70, 70, 40}));
  EXPECT_EQ(times(a, "f2"), (Times{2, 50, 50, 30}));
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
  EXPECT_EQ(times(a, "f2"), (Times{1, 5, 5, 5}));
  EXPECT_EQ(times(a, "f3"), (Times{1, 25, 25, 25}));
  EXPECT_EQ(times(a, "f1"), (Times{1, 50, 50, 20}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 40, 40, 20}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 20, 20, 10}));
  EXPECT_EQ(times(a, "f3"), (Times{1, 10, 10, 10}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 40, 40, 20}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 20, 20, 10}));
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
  EXPECT_EQ(times(a, "f2"), (Times{1, 240, 40, 40}));
  EXPECT_EQ(a.function("f2").max_ns, 40u);
  EXPECT_EQ(times(a, "f3"), (Times{1, 200, 200, 200}));
  EXPECT_EQ(times(a, "f1"), (Times{1, 250, 250, 10}));  // What it resumed is in its running time.
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
  EXPECT_EQ(times(a, "f3"), (Times{1, 100, 20, 20}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 120, 60, 40}));
  EXPECT_EQ(times(a, "f1"), (Times{1, 140, 140, 80}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 2 * deep, 2 * deep, 2}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 10, 10, 0}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 30, 30, 0}));
  EXPECT_EQ(times(a, "f3"), (Times{1, 40, 40, 40}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 50, 30, 10}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 40, 20, 20}));
  EXPECT_EQ(times(a, "f3"), (Times{1, 20, 20, 20}));
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
  EXPECT_EQ(times(a, "f1"), (Times{0, 50, 50, 10}));
  EXPECT_EQ(times(a, "f2"), (Times{0, 10, 10, 10}));
  EXPECT_EQ(times(a, "f3"), (Times{1, 30, 30, 30}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 60, 60, 20}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 40, 40, 40}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 50, 50, 40}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 10, 10, 10}));
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
  EXPECT_EQ(times(a, "f2"), (Times{1, 50, 10, 10}));
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
  EXPECT_EQ(times(a, "f2"), (Times{1, 10, 10, 5}));
  EXPECT_EQ(times(a, "f3"), (Times{1, 5, 5, 5}));
  EXPECT_EQ(a.trust().unwound, 2u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

TEST(Meaning, ReturnOfADeeperCallTruncatesThoseAbove) {
  auto a =
      analyse(trace_text("0 start\n0 entry 1\n10 entry 2\n20 entry 3\n30 return 1\n40 stop close"));
  EXPECT_EQ(a.trust().truncated, 2u);
  EXPECT_EQ(times(a, "f1"), (Times{1, 30, 30, 10}));
  EXPECT_EQ(a.function("f2").complete, 0u);
}

TEST(Meaning, ReturnWithoutEntryIsUnbalancedOrInferred) {
  auto a = analyse(trace_text("0 start\n0 entry 1\n10 return 2\n20 return 1\n20 stop close"));
  EXPECT_EQ(a.trust().unbalanced, 1u);
  EXPECT_EQ(times(a, "f1"), (Times{1, 20, 20, 20}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 200, 200, 200}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 0, 0, 0}));
}

TEST(Meaning, TimeIsUnwrappedByFullClocks) {
  // Far more than one turn of 2^40 ticks.
  auto a = analyse(trace_text(
      "0 start\n0 entry 1\n5000000000000 time\n5000000000010 return 1\n5000000000010 stop close"));
  EXPECT_EQ(times(a, "f1"), (Times{1, 5000000000010, 5000000000010, 5000000000010}));
  EXPECT_EQ(a.trust().clock_anomalies, 0u);
}

TEST(Meaning, FunctionIdsBeyond21Bits) {
  auto a =
      analyse(trace_text("func 1:3000000 lua line=1 chunk=\"@y\" name=\"big\"\n0 start\n0 entry "
                         "3000000\n10 entry 1\n20 return 1\n30 return 3000000\n30 stop close"));
  EXPECT_EQ(times(a, "big"), (Times{1, 30, 30, 20}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 10, 10, 0}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 40, 30, 10}));
  EXPECT_EQ(times(a, "f3"), (Times{1, 30, 20, 20}));
  EXPECT_EQ(times(a, "f4"), (Times{1, 40, 40, 20}));
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
  EXPECT_EQ(times(a, "f3"), (Times{1, 10, 10, 10}));
}

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
  EXPECT_EQ(times(a, "[section] db"), (Times{1, 20, 20, 10}));
  EXPECT_EQ(times(a, "f1"), (Times{1, 40, 40, 20}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 10, 10, 10}));
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
  EXPECT_EQ(times(a, "[section] stopped below"), (Times{1, 40, 40, 10}));
  EXPECT_EQ(times(a, "[section] started below"), (Times{1, 10, 10, 10}));
  EXPECT_EQ(times(a, "[section] first"), (Times{1, 30, 30, 10}));
  EXPECT_EQ(times(a, "[section] second"), (Times{1, 20, 20, 20}));
  EXPECT_EQ(times(a, "[section] before").self, 50u);  // As far as it is recorded; no call.
  EXPECT_EQ(times(a, "[section] before").calls, 0u);
  EXPECT_EQ(times(a, "f1").self, 200u - 40 - 20 - 30 - 50);
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
  EXPECT_EQ(times(a, "[section] outside"), (Times{1, 60, 60, 30}));
  EXPECT_EQ(times(a, "[section] inside"), (Times{1, 20, 20, 10}));
  EXPECT_EQ(times(a, "[section] suspended"), (Times{1, 70, 20, 20}));
  EXPECT_EQ(times(a, "[section] at the end"), (Times{1, 10, 10, 10}));
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
  EXPECT_EQ(times(a, "[GC]"), (Times{2, 10, 10, 8}));
  EXPECT_EQ(times(a, "f2"), (Times{1, 4, 4, 2}));
  EXPECT_EQ(times(a, "f1"), (Times{1, 50, 50, 40}));
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
  EXPECT_EQ(times(a, "f1"), (Times{1, 20, 20, 10}));
  EXPECT_EQ(a.function("[GC]").self_ns, 10u);
  EXPECT_EQ(a.report.idle_ns, 10u);
  EXPECT_EQ(a.trust().unbalanced, 1u);
  EXPECT_EQ(a.trust().truncated, 1u);
  EXPECT_EQ(a.trust().bad_records, 1u);  // The record without its word.
}

// -- CPU time --

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
  EXPECT_EQ(times(a, "f1"), (Times{1, 190, 190, 100}));
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
