// SPDX-License-Identifier: MIT
// What an outside tracer saw becomes what the VM would have recorded; what it did not see is known
// as lost. Each trace is given in both forms, which must mean the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "analyzer/decode/import.h"
#include "hits.h"
#include "support.h"

namespace luatrace::test {
namespace {

// A main coroutine (address a0, state 90) that calls f1 -> f2.
const char* const kCalls = R"(
    S @10 a0 1 0 0 90
    E @20 a0 1 4
    E @30 a0 2 8
    R @40 a0 2 8
    E @50 a0 3 8
    T @60 a0 3 8
    E @60 a0 2 8
    R @70 a0 2 8
    R @80 a0 1 4
    X @90 a0 90)";

// A coroutine (c0, number 2) that is created, resumed twice, ends; the address is used again.
const char* const kCoroutines = R"(
    S @10 a0 1 0 0 90
    E @20 a0 1 4
    c @30 a0 c0 2
    r @40 a0 c0 2
    E @50 c0 2 4
    y @60 c0 c0 2
    E @70 a0 3 8
    R @80 a0 3 8
    r @90 a0 c0 2
    R @a0 c0 2 4
    e @b0 c0 c0 0
    e @c0 0 c0 ffffffff
    c @d0 a0 c0 3
    r @e0 a0 c0 3
    E @f0 c0 4 4
    E @f8 c0 4 8
    e @100 c0 c0 2
    R @110 a0 1 4
    X @120 a0 90)";

std::string body(const std::string& calls) {
  std::string out;
  std::istringstream in(calls);
  for (std::string line; std::getline(in, line);)
    if (line.find(" start ") == line.npos) out += line + "\n";
  return out;
}

// Both forms, which must mean the same.
std::string both(const std::string& hits) {
  const std::string text = body(dump_calls(bt_text(hits)));
  const auto records = stap_records(hits);
  const std::string binary = body(dump_calls(std::string(records.begin(), records.end())));
  EXPECT_EQ(text, binary);
  return text;
}

Analysed analysed(const std::string& hits) {
  return analyse(bt_text(hits));
}

const std::string kFile = "a_name_that_needs_two.lua";

std::string named(std::string text) {
  for (int i = 9; i >= 1; i--)
    for (size_t at; (at = text.find(" f" + std::to_string(i))) != text.npos;)
      text.replace(at, 3, " " + kFile + ":" + std::to_string(10 * i));
  return text;
}

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
  EXPECT_EQ(a.function("f1").running_ns, 0x60u);
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

// The VM does not tell that another coroutine runs when nobody resumed it: the calls do.
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

// What is seen after the last beat was seen by some probes only.
TEST(Import, WhatComesWhileTheTracerLeavesIsLeftOut) {
  std::string hits = kCalls;
  hits = hits.substr(0, hits.find("X @90"));
  hits += "E @1000000 a0 1 4\n E @2000001 a0 2 8\n E @2000002 a0 2 8\n E @2000003 a0 2 8\n";
  const Analysed a = analysed(hits);
  EXPECT_EQ(a.trust().anomalies(), 0u) << testing::PrintToString(a.messages);
  EXPECT_EQ(a.function("f1").calls, 2u);
  EXPECT_EQ(a.trust().open_end, 1u);
}

// The end of bpftrace's output: what each thread counted in all, and of that after the last beat.
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
  // And so did both if bpftrace says that a buffer was too small.
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

// -- Streams --

TEST(Import, StatesAndThreadsAreStreams) {
  const char* const hits = R"(
      S %70 @10 a0 1 0 0 90
      E %70 @20 a0 1 4
      S %71 @21 b0 1 0 0 91
      E %71 @22 b0 2 4
      R %70 @30 a0 1 4
      R %71 @31 b0 2 4
      E %71 @40 a0 3 4
      R %71 @50 a0 3 4)";
  EXPECT_EQ(analysed(hits).trust().anomalies(), 0u);
  const std::string calls = both(hits);
  EXPECT_NE(calls.find("S2 C1 D1 entry " + kFile + ":20"), calls.npos);
  EXPECT_NE(calls.find("S1 C1 D0 thread 113"), calls.npos) << calls;
  EXPECT_NE(calls.find("S1 C1 D1 entry " + kFile + ":30"), calls.npos);
}

TEST(Import, AClosedStateIsNotTheNextOneAtItsAddress) {
  const Analysed a = analysed(R"(
      O @8 a0 90
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      R @30 a0 1 4
      X @40 a0 90
      O @50 a0 90
      S @51 a0 1 0 0 90
      E @60 a0 2 4
      R @70 a0 2 4
      X @80 a0 90)");
  EXPECT_EQ(a.trust().anomalies(), 0u);
  ASSERT_EQ(a.report.files.size(), 1u);
  EXPECT_EQ(a.report.files[0].streams.size(), 2u);
}

// -- Order and loss --

TEST(Import, TheOrderOfTheLinesDoesNotMatter) {
  std::string text = bt_text(kCoroutines);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string l; std::getline(in, l);) lines.push_back(l);
  const auto first = lines.begin() + 2;  // Behind "#luatrace-bt".
  const std::string expected = dump_calls(text);
  std::mt19937 random(1);
  for (int i = 0; i < 50; i++) {
    // Descriptions are groups of three lines: they keep their order, as in the tracer's buffer.
    std::vector<std::string> hits, rest;
    for (auto l = first; l != lines.end(); ++l)
      (l->size() > 10 && l->find(" 7 70 ") != l->npos ? hits : rest).push_back(*l);
    std::shuffle(hits.begin(), hits.end(), random);
    // In shuffled order no report may come later than what is left out before it.
    std::string mixed = lines[0] + "\n" + lines[1] + "\n";
    for (const auto& l : rest)
      if (!l.starts_with("Z") && !l.starts_with("@")) mixed += l + "\n";
    for (const auto& l : hits) mixed += l + "\n";
    for (const auto& l : rest)
      if (l.starts_with("Z") || l.starts_with("@")) mixed += l + "\n";
    ASSERT_EQ(dump_calls(mixed), expected) << mixed;
  }
}

// As drained from the buffers of several CPUs, and worse: descriptions and threads behind the hits.
TEST(Import, TheOrderOfTheRecordsDoesNotMatter) {
  const auto records = stap_records(kCoroutines);
  const std::string expected = dump_calls(std::string(records.begin(), records.end()));
  std::vector<std::array<uint8_t, 40>> pieces(records.size() / 40);
  memcpy(pieces.data(), records.data(), records.size());
  std::mt19937 random(1);
  for (int i = 0; i < 50; i++) {
    std::shuffle(pieces.begin() + 1, pieces.end(), random);
    const auto* bytes = reinterpret_cast<const char*>(pieces.data());
    ASSERT_EQ(dump_calls(std::string(bytes, records.size())), expected) << i;
  }
}

// One thread on two CPUs: the buffer with the older hits comes later.
TEST(Import, WhatIsOlderThanTheFirstReportMayComeLater) {
  const char* const hits = R"(
      R :3 @7 a0 7 14
      S :4 @10 a0 1 1 0 90
      E :5 @11 a0 1 4
      E :6 @20 a0 2 8
      R :1 @5 a0 7 1c
      R :2 @6 a0 7 18
      R :7 @30 a0 2 8
      R :8 @40 a0 1 4)";
  EXPECT_EQ(both(hits), named("S1 C1 D0 stack activate\n"
                              "S1 C1 D1 frame f1\n"
                              "S1 C1 D2 entry f2\n"
                              "S1 C1 D2 return f2\n"
                              "S1 C1 D1 return f1\n"));
  EXPECT_EQ(analysed(hits).trust().anomalies(), 0u);
  EXPECT_EQ(analyse(stap_records(hits)).trust().anomalies(), 0u);
}

// A process that made no report and is over, while another one goes on for more hits than are
// held back to be put in order.
TEST(Import, AShortProcessIsNotLate) {
  auto records = stap_records("E %9 @2 b0 3 4\n R %9 @3 b0 3 4", false);
  for (size_t at = 0; at < records.size(); at += 40)  // f3 and its thread are of another process
    if (records[at] == 'P' || (records[at] == 'F' && records[at + 4] == 3)) records[at + 8] = 8;
  const auto report = stap_records("S @10 a0 1 0 0 90", false);
  records.insert(records.end(), report.end() - 80, report.end());
  const auto calls = stap_records("E @20 a0 1 4\n R @30 a0 1 4", false);
  for (uint32_t i = 0; i < 1'700'000; i++) {
    const size_t from = calls.size() - 120 + i % 2 * 40;
    records.insert(records.end(), calls.begin() + static_cast<ptrdiff_t>(from),
                   calls.begin() + static_cast<ptrdiff_t>(from) + 40);
    const uint32_t seq = i + 2;
    const uint64_t time = kStart + 1000 + i * 10'000ull;
    memcpy(&records[records.size() - 36], &seq, 4);
    memcpy(&records[records.size() - 32], &time, 8);
  }
  const Analysed a = analyse(records);
  EXPECT_EQ(a.function("f1").calls, 850'000u);
  EXPECT_EQ(a.function("f3").calls, 1u);
}

TEST(Import, AJumpInTheNumbersIsALoss) {
  const char* const hits = R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      E @30 a0 2 8
      E :8 @80 a0 3 10
      R @90 a0 3 10
      R @a0 a0 2 8)";
  const Analysed a = analysed(hits);
  EXPECT_EQ(a.trust().lost, 4u);
  EXPECT_EQ(a.trust().open_gap, 2u);
  EXPECT_EQ(a.trust().inferred, 1u);
  // From the last hit before to the first one after, and where no call is known.
  EXPECT_EQ(a.report.gap_ns, 0x50u + 0x10);
  EXPECT_EQ(a.function("f3").calls, 1u);
  EXPECT_EQ(a.trust().anomalies(), 4u);
  EXPECT_EQ(analyse(stap_records(hits)).trust().anomalies(), a.trust().anomalies());
}

TEST(Import, LossAtTheEndIsKnownByTheTotals) {
  std::string text = bt_text(kCalls);
  text.replace(text.find("@seq[112]: 10"), 13, "@seq[112]: 25");
  EXPECT_EQ(analyse(text).trust().lost, 15u);
}

TEST(Import, WhatBpftraceSaysItLostIsNotIgnored) {
  // Numbers tell of none: then it was descriptions.
  const Analysed a = analysed(std::string(kCalls) + "\n=Lost 3 events");
  EXPECT_EQ(a.trust().lost, 0u);
  EXPECT_EQ(a.trust().bad_records, 1u);
  ASSERT_FALSE(a.messages.empty());
  EXPECT_NE(a.messages.back().find("lost 3 messages"), std::string::npos) << a.messages.back();
}

// Calls of f2, numbered from seq on.
std::string calls_from(uint32_t seq, uint32_t time) {
  std::ostringstream out;
  out << std::hex;
  for (uint32_t i = 0; i < 8; i++)
    out << (i % 2 ? "R :" : "E :") << seq + i << " @" << time + 16 * i << " a0 2 8\n";
  return out.str();
}

TEST(Import, WrappedNumbersGoOn) {
  const std::string hits = "S :1 @10 a0 1 0 0 90\nE :2 @20 a0 1 4\n" +
                           calls_from(0x7ffffff0, 0x100) + calls_from(0xfffffff0, 0x200) +
                           calls_from(3, 0x300);
  const uint64_t lost = 0x7fffffedull + 0x7ffffff8 + 10;
  for (const Analysed& a : {analyse(bt_text(hits)), analyse(stap_records(hits))}) {
    EXPECT_EQ(a.trust().lost, lost) << testing::PrintToString(a.messages);
    EXPECT_EQ(a.trust().bad_records, 0u);
    EXPECT_EQ(a.function("f2").calls, 12u);
  }
}

// Whatever byte of a hit is damaged, its number, time or thread: it costs itself, and it is said.
TEST(Import, ADamagedHitIsNotALossOfOthers) {
  const auto records = stap_records(kCoroutines);
  const uint64_t hits = analyse(records).trust().events;
  for (size_t at = 40; at < records.size(); at += 40) {
    if (!strchr("ERtUcryeX", records[at])) continue;
    for (size_t byte = 4; byte < 20; byte++)
      for (const uint8_t flip : {0x01, 0x10, 0x40, 0x80}) {
        auto damaged = records;
        damaged[at + byte] ^= flip;
        const Analysed a = analyse(damaged);
        EXPECT_LE(a.trust().lost, 3u) << at / 40 << " " << byte << " " << int{flip};
        EXPECT_GT(a.trust().events + 12, hits) << at / 40 << " " << byte << " " << int{flip};
        if (byte < 8) {
          EXPECT_GE(a.trust().lost + a.trust().bad_records, 1u) << at / 40 << " " << byte;
        }
      }
  }
}

TEST(Import, ADamagedNumberIsSaid) {
  auto records = stap_records(kCalls);
  records[40 * 41 + 6] ^= 0x40;  // The number of a hit: 4,194,304 more.
  const Analysed a = analyse(records);
  EXPECT_EQ(a.trust().lost, 1u);
  EXPECT_EQ(a.trust().bad_records, 1u);
  ASSERT_FALSE(a.messages.empty());
  EXPECT_NE(a.messages[0].find("1 hits have a number"), std::string::npos) << a.messages[0];
}

// A total that the sum over all threads contradicts, and a sum for which there was no time.
TEST(Import, DamagedTotalsAreNoLosses) {
  auto records = stap_records(kCalls);
  const size_t end = records.size() - 40;
  ASSERT_EQ(records[end - 40], 'N');
  auto total = records, sum = records;
  total[end - 40 + 8 + 2] ^= 0x40;
  sum[end + 8 + 5] ^= 0x40;
  for (const auto& damaged : {total, sum}) {
    const Analysed a = analyse(damaged);
    EXPECT_EQ(a.trust().lost, 0u);
    EXPECT_EQ(a.trust().bad_records, 1u);
  }
}

// Without an end the totals are of some moment before it: a last hit behind them is a loss of those
// before it, not damaged.
TEST(Import, TotalsOfAFileThatIsCutAreEarly) {
  auto records = stap_records(kCalls);
  records.resize(records.size() - 40);  // The end, and what it says.
  size_t last = records.size() - 40;
  while (!strchr("ERtUcryeX", records[last])) last -= 40;
  uint64_t time = 0;
  memcpy(&time, &records[last + 8], 8);
  time += 1'000'000;
  memcpy(&records[last + 8], &time, 8);
  records[last + 5] += 1;  // Its number is 256 more.
  const Analysed a = analyse(records);
  EXPECT_EQ(a.trust().lost, 256u);
  EXPECT_EQ(a.trust().bad_records, 0u);
}

// lua-calls.stp counts its hits itself, in the last record: more than the file tells of are lost,
// less is a contradiction.
TEST(Import, TheScriptsOwnCountIsCompared) {
  const auto counting = [](uint64_t count) {
    auto records = stap_records(kCalls);
    memcpy(&records[records.size() - 32], &count, 8);
    return analyse(records);
  };
  EXPECT_EQ(counting(10).trust().anomalies(), 0u);
  EXPECT_EQ(counting(25).trust().lost, 15u);
  const Analysed less = counting(9);
  EXPECT_EQ(less.trust().bad_records, 1u);
  ASSERT_FALSE(less.messages.empty());
  EXPECT_NE(less.messages[0].find("the script counted 9 hits, but the file tells of 10"),
            std::string::npos)
      << less.messages[0];
}

TEST(Import, TheSameHitTwiceIsOne) {
  const Analysed a = analysed(std::string(kCalls) + "\n E :2 @20 a0 1 4");
  EXPECT_EQ(a.function("f1").calls, 1u);
  EXPECT_EQ(a.trust().anomalies(), 0u);
}

// A coroutine's stack was reported when only some of the probes had their tracer. The report of
// another one was the first that got there. Nothing is lost, and only what lies below is unknown.
TEST(Import, AStackThatWasReportedTooEarlyIsNoLoss) {
  const Analysed a = analysed(R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      R @30 c0 2 8
      E @40 c0 3 8
      R @50 c0 3 8
      y @60 c0 c0 7
      r @70 a0 d0 8
      E @80 d0 3 4
      R @90 d0 3 4
      e @a0 d0 d0 0
      R @b0 a0 1 4)");
  EXPECT_EQ(a.trust().lost, 0u);
  EXPECT_EQ(a.trust().inferred, 1u);  // The call of f2.
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.function("f1").complete, 1u);
  EXPECT_EQ(a.function("f3").complete, 2u);
}

// Of a state that was seen from its beginning everything is known.
TEST(Import, AStackFromNowhereIsALoss) {
  const Analysed a = analysed(R"(
      O @10 a0 90
      E @20 a0 1 4
      R @30 c0 2 8
      R @40 a0 1 4)");
  EXPECT_EQ(a.trust().lost, 1u);
}

TEST(Import, AnImpossibleHitProvesAHole) {
  const Analysed a = analysed(R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      R @30 a0 2 8
      R @40 a0 1 4)");
  EXPECT_EQ(a.trust().lost, 1u);
  EXPECT_EQ(a.trust().inferred, 2u);
}

// An address may be another coroutine although its end was not seen.
TEST(Import, AnotherNumberAtAnAddressIsAnotherCoroutine) {
  const std::string calls = both(R"(
      S @10 a0 1 0 0 90
      E @20 a0 1 4
      c @30 a0 c0 2
      r @40 a0 c0 2
      E @50 c0 2 4
      y @60 c0 c0 2
      r @70 a0 c0 5
      E @80 c0 3 4
      y @90 c0 c0 5
      R @a0 a0 1 4)");
  EXPECT_NE(calls.find("collect 2"), calls.npos) << calls;
  EXPECT_NE(calls.find("S1 C3 D1 entry " + kFile + ":30"), calls.npos) << calls;
}

// -- Bytes --

TEST(Import, StringsMayHoldAnything) {
  std::string hits = kCalls;
  hits +=
      "\n=F 7 63 beef 5\n=C 7 63 beef 0 100000000000:@x\n=E 100000000020 7 70 2 a0 1 4 beef\n"
      "=Z 1 2100000000000\n=N 7 63 beef 100000000000:evil\"\n=100000000000\n"
      "E @88 a0 63 4\n R @89 a0 63 4\n";
  hits.replace(hits.find("X @90 a0 90"), 11, "");
  const Analysed a = analysed(hits);
  EXPECT_EQ(a.trust().anomalies(), 0u) << testing::PrintToString(a.messages);
  EXPECT_EQ(a.function("evil\"\n").chunk, "@x\nE 100000000020 7 70 2 a0 1 4 beef\nZ 1 2");
}

TEST(Import, RecordsSayWhichNamesAreHints) {
  const auto records = stap_records(kCalls);
  const Analysed a = analyse(std::string(records.begin(), records.end()));
  EXPECT_TRUE(a.function("f1").hint);
  EXPECT_FALSE(a.function("f2").hint);
  EXPECT_TRUE(a.function("f3").hint);
}

TEST(Import, LongChunkNamesArePutTogether) {
  const std::string part(63, 'x');
  const Analysed a = analysed("=F 7 63 beef 5\n=C 7 63 beef 0 100000000000:" + part +
                              "100000000000\n=C 7 63 beef 1 100000000000:" + part +
                              "100000000000\n=C 7 63 beef 2 100000000000:end100000000000\n"
                              "=C 7 63 beef 3 100000000000:garbage100000000000\n"
                              "=N 7 63 beef 100000000000:long100000000000\n"
                              "S @10 a0 1 0 0 90\n E @20 a0 63 4\n");
  EXPECT_EQ(a.function("long").chunk, part + part + "end");
}

TEST(Import, BadLinesCostThemselves) {
  const Analysed a =
      analysed(std::string("=hello\n=E 1 2\n=E zz 7 70 1 a0 1 4 beef\n=C 7 1\n") + kCalls);
  EXPECT_EQ(a.trust().bad_records, 4u);
  EXPECT_EQ(a.function("f2").calls, 2u);
  ASSERT_GE(a.messages.size(), 4u);
  EXPECT_NE(a.messages[0].find("test.bin: offset "), std::string::npos) << a.messages[0];
  EXPECT_NE(a.messages[0].find("a line that lua-calls.bt does not write"), std::string::npos);
}

TEST(Import, CutTails) {
  const std::string text = bt_text(kCalls);
  for (size_t size = text.find("\nF 7 1"); size < text.size(); size += 3) {
    const Analysed a = analyse(text.substr(0, size));
    EXPECT_FALSE(a.unreadable) << a.reason;
    if (size < text.find("\n@beat")) {
      EXPECT_EQ(a.trust().cut, 1u) << size;
    }
  }
  const auto records = stap_records(kCalls);
  for (size_t size = 40; size < records.size(); size += 7) {
    const Analysed a = analyse(std::vector<uint8_t>(&records[0], &records[0] + size));
    EXPECT_FALSE(a.unreadable) << a.reason;
    EXPECT_EQ(a.trust().cut, 1u) << size;
    EXPECT_EQ(a.trust().bad_records, size % 40 != 0 ? 1u : 0u) << size;
  }
}

TEST(Import, ARecordThatIsBrokenCostsItself) {
  auto records = stap_records(kCalls);
  records.insert(records.begin() + 40 * 5, {1, 2, 3, 4, 5, 6, 7});
  const Analysed a = analyse(records);
  EXPECT_EQ(a.trust().bad_records, 1u);
  EXPECT_EQ(a.function("f2").calls, 2u);
}

std::string imported(std::vector<uint8_t> bytes, size_t memory) {
  Input input("test.bin", std::move(bytes));
  Diagnostics diag("test.bin", [](const std::string&) {});
  Spool spool(memory);
  (is_stap_records(input) ? read_stap : read_bpftrace)(input, diag, spool, {});
  Input trace("test.bin", std::move(spool));
  const size_t size = trace.need(1 << 20);
  EXPECT_EQ(trace.size(), size);
  return {reinterpret_cast<const char*>(trace.data()), size};
}

TEST(Import, InMemoryAndInAFileTheTraceIsTheSame) {
  const std::string text = bt_text(kCalls);
  for (const auto& bytes : {std::vector<uint8_t>(text.begin(), text.end()), stap_records(kCalls)}) {
    const std::string in_memory = imported(bytes, 1 << 20);
    EXPECT_TRUE(in_memory.starts_with("LUATRACE"));
    EXPECT_EQ(in_memory, imported(bytes, 0));
  }
}

TEST(Import, VersionsThatAreNotKnownAreRefused) {
  auto records = stap_records(kCalls);
  records[2] = 9;
  const Analysed a = analyse(records);
  EXPECT_TRUE(a.unreadable);
  EXPECT_NE(a.reason.find("test.bin"), std::string::npos);
  EXPECT_NE(a.reason.find("version 9"), std::string::npos) << a.reason;
}

}  // namespace
}  // namespace luatrace::test
