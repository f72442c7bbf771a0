// SPDX-License-Identifier: MIT
// Unseen hits are known as lost, by numbers, by totals, or by an impossible hit.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <string>

#include "import_support.h"

namespace luatrace::analyze::test {
namespace {

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
  // The numbers show no loss: then it was descriptions.
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

// Whatever byte of a hit is damaged, its number, time or thread: only that hit is lost, and
// reported.
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

TEST(Import, ADamagedNumberIsReported) {
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

// Without an end the totals are of some moment before it: a last hit after them is a loss of those
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

// lua-calls.stp counts its hits itself, in the last record: more than the file contains are lost,
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
  EXPECT_NE(less.messages[0].find("the script counted 9 hits, but the file accounts for 10"),
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

// If a VM was traced from its beginning, everything is known.
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

}  // namespace
}  // namespace luatrace::analyze::test
