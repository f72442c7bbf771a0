// SPDX-License-Identifier: MIT
// What is known while a stack is reported and after a loss, as small traces whose numbers were
// worked out by hand (docs/semantics.md: Gaps); and that after a missing block each moment counts
// for what really ran or as unknown.
#include <gtest/gtest.h>

#include "analyzer/output/format.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

struct Times {
  uint64_t calls, running, self;
  bool operator==(const Times&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Times& t) {
  return out << "calls " << t.calls << " running " << t.running << " self " << t.self;
}
Times times(const Analysed& a, const std::string& name) {
  const ReportFunction& f = a.function(name);
  return {f.calls, f.inclusive_ns, f.self_ns};
}

std::string number(uint64_t n) {
  return std::to_string(n);
}

// -- Reports of stacks --

// The report is of one moment, that of its first record, however long writing it takes.
TEST(StackReport, ContinuesInTheNextBlock) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 stack 1 activate n=3
    2 frame 1
    4 frame 2
    block 1 seq=1 base=5 co=1 depth=2
    5 ringblock co=1 tid=7 rec=1
    6 frame 3
    20 return 3
    30 return 2
    40 return 1
    40 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.trust().open_start, 3u);
  EXPECT_EQ(times(a, "f3"), (Times{0, 20, 20}));
  EXPECT_EQ(times(a, "f2"), (Times{0, 30, 10}));
  EXPECT_EQ(times(a, "f1"), (Times{0, 40, 10}));
  EXPECT_EQ(a.report.idle_ns + a.report.gap_ns, 0u);
}

TEST(StackReport, IsNotEndedByRecordsThatHaveNothingToDoWithStacks) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 activate n=2
    0 pad
    0 frame 1
    0 time
    0 thread 8
    0 ext 40 arg=0 1
    0 frame 2
    10 return 2
    20 return 1
    20 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(times(a, "f2"), (Times{0, 10, 10}));
  EXPECT_EQ(times(a, "f1"), (Times{0, 20, 10}));
}

// More frames than a ring of the minimum size has words, in blocks as the VM fills them.
TEST(StackReport, OfAnyDepth) {
  const int blocks = 6, each = 8000, deep = blocks * each;
  std::string text = "block 1 seq=0 base=0\n0 start\n0 stack 1 activate n=" + number(deep) + "\n";
  for (int b = 0; b < blocks; b++) {
    if (b) text += "block 1 seq=" + number(b) + " base=" + number(b) + "\n";
    if (b) text += number(b) + " ringblock co=1 tid=7 rec=1\n";
    for (int i = 0; i < each; i++) text += number(b) + " frame " + (b || i ? "2" : "1") + "\n";
  }
  text += "100 entry 3\n150 return 3\n170 unwind " + number(deep - 1) + " top=1\n180 return 1\n";
  auto a = analyse(trace_text(text + "200 stop close"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.trust().open_start, static_cast<uint64_t>(deep));
  EXPECT_EQ(a.trust().unwound, static_cast<uint64_t>(deep - 1));
  EXPECT_EQ(times(a, "f3"), (Times{1, 50, 50}));
  EXPECT_EQ(times(a, "f2"), (Times{0, 170, 120}));
  EXPECT_EQ(times(a, "f1"), (Times{0, 180, 10}));
  EXPECT_EQ(a.report.idle_ns, 20u);
}

// Until the report is complete, what runs is unknown.
TEST(StackReport, LostInTheMiddleMakesTheStackUnknownFromItsBeginningOn) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 ringblock co=1 tid=7 rec=1
    10 stack 1 activate n=3
    12 frame 1
    14 frame 2
    block 1 seq=1 base=100 co=1 depth=2
    100 ringblock co=1 tid=7 rec=1
    100 loss 7 since=16
    100 stack 1 loss n=2
    101 frame 1
    102 frame 2
    110 return 2
    120 return 1
    130 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 7u);
  EXPECT_EQ(a.trust().lost, 7u);
  EXPECT_EQ(a.report.gap_ns, 90u);
  EXPECT_EQ(a.report.idle_ns, 10u + 10u);
  EXPECT_EQ(times(a, "f2"), (Times{0, 10, 10}));
  EXPECT_EQ(times(a, "f1"), (Times{0, 20, 10}));
  EXPECT_EQ(a.report.traced_ns, 130u);
}

TEST(StackReport, ThatIsTooShortIsUnbalanced) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 activate n=3
    0 frame 1
    10 entry 2
    15 frame 3
    20 stop close)"));
  EXPECT_EQ(a.trust().unbalanced, 2u);  // The report, and a frame of none.
  EXPECT_EQ(a.report.self_ns, 20u);
}

// -- Losses --

// A loss begins and ends in different coroutines, so the header of the block names another one than
// was current.
TEST(Loss, BetweenCoroutinesIsALossAndNothingElse) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 create 2
    10 resume 2
    10 entry 2
    20 return 2
    20 suspend done
    block 1 seq=1 base=100 co=1 depth=1
    100 ringblock co=3 tid=7 rec=1
    100 loss 50 since=30
    100 stack 3 loss n=1
    100 frame 2
    120 return 2
    120 suspend done
    120 stack 1 resumed n=1
    120 frame 1
    140 return 1
    140 stop close)"));
  EXPECT_EQ(a.trust().lost, 50u);
  EXPECT_EQ(a.trust().anomalies(), 50u);
  EXPECT_EQ(a.trust().open_start, 0u);
  EXPECT_EQ(a.trust().open_gap, 1u);
  EXPECT_EQ(times(a, "f1"), (Times{1, 50, 40}));  // 0-10, 20-30, 120-140; with f2's first 10.
  EXPECT_EQ(times(a, "f2"), (Times{1, 30, 30}));
  EXPECT_EQ(a.report.gap_ns, 70u);
  EXPECT_EQ(a.report.idle_ns, 0u);
  EXPECT_EQ(a.report.coroutines, 3u);
}

TEST(Loss, OfNothingIsMalformed) {
  auto a = analyse(trace_text("0 start\n0 entry 1\n20 loss 0 since=10\n30 stop close"));
  EXPECT_EQ(a.trust().bad_records, 1u);
}

// Ten coroutines and a hundred losses, then one more.
std::string coroutines_and_losses() {
  std::string text = "0 start\n0 ringblock co=1 tid=7 rec=1\n0 entry 1\n";
  for (int co = 2; co <= 10; co++) text += "0 create " + number(co) + "\n";
  uint64_t t = 0;
  for (int n = 0; n < 100; n++) {
    for (int co = 2; co <= 10; co++) {
      text += number(++t) + " resume " + number(co) + "\n";
      if (n) text += number(t) + " stack " + number(co) + " resumed n=0\n";
      text += number(++t) + " suspend yield\n";
    }
    t += 10;
    text += number(t) + " loss 3 since=" + number(t - 5) + "\n" + number(t) + " stack 1 loss n=1\n";
    text += number(t) + " frame 1\n";
  }
  text += number(t) + " create 11\n" + number(t) + " resume 11\n" + number(t) + " suspend done\n";
  return trace_text(text + number(t + 1) + " stop close");
}

// Ids of coroutines are given once: one that is seen after a loss is the one from before.
TEST(Loss, CoroutinesAreCountedOnce) {
  auto a = analyse(coroutines_and_losses());
  EXPECT_EQ(a.trust().anomalies(), 300u);
  EXPECT_EQ(a.report.coroutines, 11u);
}

TEST(Loss, ACoroutineThatIsSeenAgainHasOneLife) {
  const Report many = report_of(to_binary(coroutines_and_losses()), {}, 0);
  uint64_t count = 0;
  for (const ReportCreationSite& place : many.creation_sites) count += place.count;
  EXPECT_EQ(count, 11u);
  EXPECT_EQ(many.coroutine_list.size(), 11u);
  const Report one = report_of(to_binary(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    0 create 2
    0 resume 2
    0 entry 2
    10 suspend yield
    50 loss 3 since=20
    50 stack 1 loss n=1
    50 frame 1
    60 resume 2
    60 stack 2 resumed n=1
    60 frame 2
    70 suspend done
    80 stop close)")),
                               {}, 0);
  for (const ReportCoroutine& life : one.coroutine_list) {
    if (life.id != 2) continue;
    EXPECT_EQ(life.life_ns, 70u);
    EXPECT_EQ(life.suspended_ns, 10u);  // 10-20; from there to 60 it is unknown.
    EXPECT_EQ(life.running_ns, 20u);
  }
  EXPECT_EQ(one.coroutine_list.size(), 2u);
}

// Other coroutines are from before the loss, with calls whose beginning is not in the trace: these
// were not open at the start of the recording.
TEST(Loss, StacksReportedAfterItAreNotOfTheStart) {
  auto a = analyse(trace_text(R"(
    0 start
    0 stack 1 activate n=1
    0 frame 1
    50 loss 3 since=20
    50 stack 1 loss n=1
    50 frame 1
    60 resume 2
    60 stack 2 resumed n=2
    60 frame 2
    60 frame 3
    70 suspend yield
    80 stop detach)"));
  EXPECT_EQ(a.trust().open_start, 1u);
  EXPECT_EQ(a.trust().open_gap, 1u);
  EXPECT_EQ(a.trust().open_end, 3u);
  EXPECT_EQ(a.trust().anomalies(), 3u);
}

// A stack overflow reports how many calls remain, not how many end.
TEST(Loss, AnUnwindToADepthEndsWhatStandsAboveUnknownCalls) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    30 loss 5 since=10
    30 switch 1
    40 entry 3
    50 entry 3
    60 unwindto 2 top=2
    70 return 2
    80 return 1
    90 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 5u);  // The lost events.
  EXPECT_EQ(a.trust().unbalanced, 0u);
  EXPECT_EQ(a.trust().truncated, 0u);
  EXPECT_EQ(a.trust().unwound, 2u);
  EXPECT_EQ(a.trust().inferred, 2u);
  EXPECT_EQ(times(a, "f3"), (Times{2, 20, 20}));
  EXPECT_EQ(a.report.gap_ns, 20u + 10u + 30u);
  EXPECT_EQ(a.report.idle_ns, 0u);
}

// In a recursion the function on top does not show which call remains; but the innermost call has
// failed.
TEST(Loss, AnUnwindToADepthInsideARecursion) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    20 entry 2
    30 loss 1 since=20
    30 switch 1
    40 entry 2
    50 entry 2
    60 unwindto 4 top=2
    70 return 2
    80 return 2
    81 return 2
    82 unwindto 1 top=1
    85 return 1
    90 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 1u);
  EXPECT_EQ(a.trust().unbalanced, 0u);
  EXPECT_EQ(a.trust().truncated, 0u);
  EXPECT_EQ(a.trust().unwound, 1u);
  EXPECT_EQ(a.trust().inferred, 3u);
  EXPECT_EQ(times(a, "f2"), (Times{2 + 2, 10 + 30, 10 + 30}));
}

// A function without events may overflow: then no known call ends.
TEST(Loss, AnUnwindToTheCallOnTopEndsNone) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    30 loss 1 since=20
    30 switch 1
    40 entry 2
    50 entry 3
    60 unwindto 3 top=3
    70 return 3
    80 return 2
    85 return 1
    90 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 1u);
  EXPECT_EQ(a.trust().unwound, 0u);
  EXPECT_EQ(a.trust().inferred, 1u);
  EXPECT_EQ(times(a, "f3"), (Times{1, 20, 20}));
}

// In a recursion another call may have remained than the one that is assumed. Then only the number
// of open calls is known, and all of it is part of the loss.
TEST(Loss, AnUnwindToADepthLeftOtherCallsThanAssumed) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 5
    30 loss 3 since=20
    30 switch 1
    40 entry 1
    41 entry 3
    42 entry 2
    43 entry 2
    60 unwindto 3 top=2
    70 return 2
    80 return 1
    85 return 5
    90 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 3u);
  EXPECT_EQ(a.trust().unbalanced, 0u);
  EXPECT_EQ(a.trust().truncated, 0u);
  EXPECT_EQ(a.trust().unwound, 1u);
  EXPECT_EQ(a.trust().inferred, 2u);
  EXPECT_EQ(a.trust().open_gap, 1u + 2u);
}

TEST(Loss, AnUnwindContradictsTheAssumption) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 5
    30 loss 3 since=20
    30 switch 1
    41 entry 3
    42 entry 2
    43 entry 2
    60 unwindto 2 top=2
    70 entry 4
    75 unwind 2 top=5
    85 return 5
    90 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 3u);
  EXPECT_EQ(a.trust().unwound, 1u + 2u);
  EXPECT_EQ(a.trust().inferred, 1u);
  EXPECT_EQ(a.trust().open_gap, 1u + 1u);
}

// A recorder through BPF continues after a loss and has the stack reported later: some of the calls
// that are open then are known already.
TEST(Loss, AReportSomeTimeAfterIt) {
  auto a = analyse(trace_text(R"(
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    30 loss 5 since=10
    30 switch 1
    40 entry 3
    50 stack 1 activate n=3
    50 frame 1
    50 frame 2
    50 frame 3
    70 return 3
    80 return 2
    90 return 1
    95 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 5u);
  EXPECT_EQ(a.trust().truncated, 0u);
  EXPECT_EQ(a.trust().open_gap, 2u + 1u);
  EXPECT_EQ(a.trust().inferred, 0u);
  EXPECT_EQ(times(a, "f3"), (Times{1, 10 + 20, 10 + 20}));
  EXPECT_EQ(a.report.gap_ns, 20u + 10u);
}

// -- Missing blocks --

// The header of the first block after the gap has the current coroutine and the number of its open,
// unknown calls: so many may end. What resumed it remains unknown.
TEST(MissingBlock, TheNextHeaderSaysHowMuchIsUnknown) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 entry 2
    block 1 seq=2 base=50 co=1 depth=2
    50 entry 3
    60 return 3
    70 return 2
    80 return 1
    90 entry 4
    95 return 4
    100 stop close)"));
  EXPECT_EQ(a.trust().missing_blocks, 1u);
  EXPECT_EQ(a.trust().anomalies(), 1u);
  EXPECT_EQ(a.trust().inferred, 2u);
  EXPECT_EQ(a.trust().open_gap, 2u);
  // The gap, the two calls, and then what may be part of a call in the unknown resumer.
  EXPECT_EQ(a.report.gap_ns, 40u + 20u + 15u);
  EXPECT_EQ(a.report.idle_ns, 0u);
  EXPECT_EQ(times(a, "f3"), (Times{1, 10, 10}));
  EXPECT_EQ(times(a, "f4"), (Times{1, 5, 5}));
}

TEST(MissingBlock, WithoutADepthTheBottomStaysUnknown) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 entry 1
    block 1 seq=2 base=50 co=1 depth=-
    60 return 1
    90 stop close)"));
  EXPECT_EQ(a.trust().inferred, 1u);
  EXPECT_EQ(a.report.gap_ns, 90u);
  EXPECT_EQ(a.report.idle_ns, 0u);
}

// One return more than the header has calls.
TEST(MissingBlock, MoreEndsThanTheHeaderHasCallsAreUnbalanced) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    block 1 seq=2 base=50 co=1 depth=1
    60 return 1
    70 return 2
    90 stop close)"));
  EXPECT_EQ(a.trust().inferred, 1u);
  EXPECT_EQ(a.trust().unbalanced, 1u);
}

TEST(MissingBlock, InTheMiddleOfAReport) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 stack 1 activate n=4
    0 frame 1
    block 1 seq=2 base=50 co=1 depth=2
    50 ringblock co=1 tid=7 rec=1
    50 frame 3
    50 frame 4
    60 return 4
    70 return 3
    80 return 2
    90 return 1
    100 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 1u);
  EXPECT_EQ(a.trust().missing_blocks, 1u);
  EXPECT_EQ(a.trust().inferred, 2u);
  EXPECT_EQ(a.trust().open_start, 1u);
  EXPECT_EQ(a.report.gap_ns, 50u + 20u + 10u);
  EXPECT_EQ(a.report.idle_ns, 0u);
  EXPECT_EQ(times(a, "f4"), (Times{0, 10, 10}));
  EXPECT_EQ(times(a, "f3"), (Times{0, 20, 10}));
}

TEST(MissingBlock, AnUnwindEndsUnknownCallsToo) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 entry 1
    block 1 seq=2 base=50 co=1 depth=2
    60 entry 2
    70 unwind 3 top=-
    90 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 1u);
  EXPECT_EQ(a.trust().unwound, 1u);
  EXPECT_EQ(a.trust().inferred, 2u);
  EXPECT_EQ(a.report.gap_ns, 60u + 20u);
  EXPECT_EQ(a.report.idle_ns, 0u);
}

TEST(MissingBlock, AnUnwindToADepthCountsTheUnknownCalls) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 entry 1
    block 1 seq=2 base=50 co=1 depth=2
    50 entry 3
    60 entry 4
    70 unwindto 3 top=3
    80 unwindto 1 top=1
    90 return 1
    99 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 1u);
  EXPECT_EQ(a.trust().unwound, 2u);
  EXPECT_EQ(a.trust().inferred, 2u);  // One of the two below, then f1.
  EXPECT_EQ(times(a, "f3"), (Times{1, 30, 20}));
  EXPECT_EQ(a.report.gap_ns, 50u + 10u + 9u);
  EXPECT_EQ(a.report.idle_ns, 0u);
}

// The recorder leaves out what it cannot use, and says so in the next block.
TEST(MissingBlock, WhatTheRecorderLeftOutIsOne) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    block 1 seq=1 base=50 flags=2
    50 ringblock co=2 tid=7 rec=1
    60 stop close)"));
  EXPECT_EQ(a.trust().missing_blocks, 1u);
  EXPECT_EQ(a.trust().anomalies(), 1u);
  EXPECT_EQ(a.report.gap_ns, 60u);
}

// Without a missing block the header is not used, whatever it has (those of older recorders name
// the coroutine of another moment after a loss).
TEST(MissingBlock, NoneIsMissingSoNoHeaderIsUsed) {
  auto a = analyse(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    block 1 seq=1 base=10 co=9 depth=44
    10 ringblock co=8 tid=7 rec=1
    20 return 1
    20 stop close)"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(times(a, "f1"), (Times{1, 20, 20}));
  EXPECT_EQ(a.report.coroutines, 1u);
}

// -- What is known of a loss --

// A gap whose events may be more than were counted (kind 2, or 3), and others.
TEST(Loss, OfSoManyAtLeast) {
  const std::string before = "10 entry 1\n20 loss 5 since=15 kind=", after = "\n30 entry 2\n";
  for (const char* kind : {"0", "1"}) {
    const Analysed a = analyse(trace_text(before + kind + after));
    EXPECT_EQ(a.trust().lost_at_least, 0u) << kind;
    EXPECT_NE(trust_line(a.report).find(" events, 5 LOST"), std::string::npos) << kind;
  }
  for (const char* kind : {"2", "3"}) {
    const Analysed a = analyse(trace_text(before + kind + after));
    EXPECT_EQ(a.trust().lost_at_least, 1u) << kind;
    EXPECT_NE(trust_line(a.report).find(" events, at least 5 LOST"), std::string::npos) << kind;
    const Report read = report_of({file_bytes("a", saved(a.report))}, {});
    EXPECT_EQ(read.trust.lost_at_least, 1u) << kind;
  }
}

}  // namespace
}  // namespace luatrace::analyze
