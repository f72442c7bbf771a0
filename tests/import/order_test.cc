// SPDX-License-Identifier: MIT
// VMs, threads and processes are distinguished; the order of the hits in the file does not matter.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "import_support.h"

namespace luatrace::analyze::test {
namespace {

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
    // In shuffled order no report may come later than the hits that are left out before it.
    std::string mixed = lines[0] + "\n" + lines[1] + "\n";
    for (const auto& l : rest)
      if (!l.starts_with("Z") && !l.starts_with("@")) mixed += l + "\n";
    for (const auto& l : hits) mixed += l + "\n";
    for (const auto& l : rest)
      if (l.starts_with("Z") || l.starts_with("@")) mixed += l + "\n";
    ASSERT_EQ(dump_calls(mixed), expected) << mixed;
  }
}

// As drained from the buffers of several CPUs, and worse: descriptions and threads after the hits.
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

}  // namespace
}  // namespace luatrace::analyze::test
