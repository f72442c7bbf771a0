// SPDX-License-Identifier: MIT
// TimeSpans: what overlaps counts once, in whatever order it comes, and memory is bounded.
#include "trace/time_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace luatrace {
namespace {

constexpr uint64_t kEver = UINT64_MAX;

TEST(TimeSpans, WhatOverlapsCountsOnce) {
  TimeSpans s;
  s.add(100, 200);
  s.add(150, 250);
  s.add(160, 170);
  EXPECT_EQ(150u, s.covered(0, kEver));
  s.add(300, 400);
  EXPECT_EQ(2u, s.size());
  EXPECT_EQ(250u, s.covered(0, kEver));
  s.add(250, 300);  // touches both
  EXPECT_EQ(1u, s.size());
  EXPECT_EQ(300u, s.covered(0, kEver));
}

TEST(TimeSpans, OnlyTheTimeThatIsAskedForCounts) {
  TimeSpans s;
  s.add(0, 150);
  s.add(180, kEver);
  EXPECT_EQ(70u, s.covered(100, 200));
  EXPECT_EQ(0u, s.covered(150, 180));
  EXPECT_EQ(0u, s.covered(200, 100));
}

TEST(TimeSpans, AnEmptySpanIsNone) {
  TimeSpans s;
  s.add(5, 5);
  s.add(6, 5);
  EXPECT_EQ(0u, s.size());
}

TEST(TimeSpans, AgreesWithASetOfTicks) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; round++) {
    TimeSpans s;
    std::set<uint64_t> ticks;
    for (int i = 0; i < 40; i++) {
      const uint64_t since = random() % 1000, until = since + random() % 30;
      s.add(since, until);
      for (uint64_t t = since; t < until; t++) ticks.insert(t);
    }
    EXPECT_EQ(ticks.size(), s.covered(0, 2000));
    const auto from = ticks.lower_bound(300), to = ticks.lower_bound(700);
    EXPECT_EQ(static_cast<uint64_t>(std::distance(from, to)), s.covered(300, 700));
  }
}

// Of spans with 1 tick between some and 1,000,000 between others the short gaps are closed first.
TEST(TimeSpans, MemoryIsBounded) {
  TimeSpans s;
  const uint64_t n = 4 * TimeSpans::kMax;
  uint64_t at = 0, covered = 0, closed = 0;
  for (uint64_t i = 0; i < n; i++) {
    s.add(at, at + 10);
    EXPECT_LE(s.size(), TimeSpans::kMax);
    const bool near = i % 64 != 63;
    covered += 10;
    closed += near ? 1 : 0;
    at += 10 + (near ? 1 : 1'000'000);
  }
  EXPECT_GE(s.covered(0, kEver), covered);
  EXPECT_LE(s.covered(0, kEver), covered + closed);
}

}  // namespace
}  // namespace luatrace
