// SPDX-License-Identifier: MIT
// The recorder's count of the events for which segments stand, and their times.
#include "recorder/drain/segment_words.h"

#include <gtest/gtest.h>

#include "luatrace_format.h"
#include "trace/records.h"

namespace luatrace::record {
namespace {

using Words = std::vector<uint64_t>;

constexpr uint32_t kEntry = 1 << LT_KIND_BITS | LT_ENTRY, kReturn = 1 << LT_KIND_BITS | LT_RETURN;

uint64_t place(uint64_t t, uint32_t id) {
  return lt_word(t, LT_SEGMENT_FIRST + id, LT_SUSPEND);
}

uint64_t packed(std::initializer_list<uint64_t> items) {
  uint64_t all = 0;
  for (const uint64_t item : items) all = all << LT_PACKED_BITS | item;
  return lt_packed_word(all);
}

void passed(Words& out, uint64_t t, uint32_t id, const Words& iterations) {
  out.push_back(lt_word(t, lt_ext(LTX_SEGMENT, iterations.size() + 1, 0), LT_EXT));
  out.push_back(id + 1);
  for (const uint64_t n : iterations) out.push_back(n + 1);
}

void describe(SegmentWords& words, uint32_t id, uint32_t parent, uint16_t level, uint16_t flags,
              const std::vector<uint32_t>& places, const std::vector<uint32_t>& events) {
  lt_segment s{};
  s.id = id;
  s.parent = parent;
  s.level = level;
  s.flags = flags;
  s.nmarks = 1;
  s.nexits = static_cast<uint16_t>(places.size() - 1);
  std::vector<std::byte> record;
  append_segment(record, s, places, events);
  words.describe(record);
}

// A loop of two events with the places 1 (its beginning), 2, 3, and a side trace of three events,
// entered from place 3, with the places 4, 5.
SegmentWords loop_and_side() {
  SegmentWords words;
  describe(words, 1, 0, 1, LT_SEGMENT_COUNTS, {0, 0, 1 | 30 << 16}, {kEntry, kReturn});
  describe(words, 4, 3, 1, 0, {0, 3}, {kReturn, kEntry, kReturn});
  return words;
}

uint64_t counted(SegmentWords words, Words in) {
  words.run(in);
  return words.events();
}

TEST(SegmentWords, APlaceStandsForItsPath) {
  EXPECT_EQ(0u, counted(loop_and_side(), {place(1, 2)}));
  EXPECT_EQ(1u, counted(loop_and_side(), {place(1, 3)}));
  EXPECT_EQ(1u + 3, counted(loop_and_side(), {place(1, 5)}));
  EXPECT_EQ(1u + 4, counted(loop_and_side(), {place(1, 3), place(2, 5)}));
}

TEST(SegmentWords, IterationsAreThoseOfTheirLevel) {
  Words in;
  passed(in, 1, 3, {7});
  EXPECT_EQ(7u * 2 + 1, counted(loop_and_side(), in));
  passed(in, 2, 5, {7});
  EXPECT_EQ(15u + 7 * 2 + 1 + 3, counted(loop_and_side(), in));
  passed(in, 3, 3, {0, 9});  // there is no second level
  EXPECT_EQ(33u + 1, counted(loop_and_side(), in));
}

// After a place inside a trace the path goes on: what was stored is not counted again.
TEST(SegmentWords, WhatGoesOn) {
  Words in;
  passed(in, 1, 1, {5});
  in.push_back(place(2, 5));
  EXPECT_EQ(5u * 2 + 4, counted(loop_and_side(), in));
  EXPECT_EQ(1u + 3, counted(loop_and_side(), {place(1, 4), place(2, 5)}));
  const uint64_t loss = lt_word(2, lt_ext(LTX_LOSS, 2, 0), LT_EXT);
  EXPECT_EQ(1u + 4, counted(loop_and_side(), {place(1, 4), loss, 3, 1, place(3, 5)}));
}

TEST(SegmentWords, SeveralPlacesInAWord) {
  const uint64_t three = packed({LT_PACKED_PLACE + 3, LT_PACKED_PLACE + 5, LT_PACKED_PLACE + 2});
  EXPECT_EQ(1u + (1 + 3), counted(loop_and_side(), {three}));
  const uint64_t looped = packed({LT_PACKED_PLACE + 3, 7, LT_PACKED_PLACE + 5});
  EXPECT_EQ(1u + (7 * 2 + 1 + 3), counted(loop_and_side(), {looped}));
  Words in = {lt_word(70, 1, LT_ENTRY), looped, three};
  const Words before = in;
  SegmentWords words = loop_and_side();
  words.run(in);
  EXPECT_EQ(before, in);
  EXPECT_EQ(2u, words.words());
}

TEST(SegmentWords, WhatIsNotDescribedIsNoEvent) {
  SegmentWords words = loop_and_side();
  describe(words, 5, 0, 1, 0, {0, 3}, {kReturn, kEntry, kReturn});         // ids that are used
  describe(words, 1u << 20, 0, 1, 0, {0, 3}, {kReturn, kEntry, kReturn});  // too far away
  describe(words, 9, 8, 1, 0, {0, 1}, {kEntry});                           // its parent is none
  EXPECT_EQ(1u, counted(words, {place(1, 10), place(2, 7), place(3, (1u << 20) + 1)}));
  Words cut;
  passed(cut, 1, 3, {1, 1});
  cut.pop_back();
  EXPECT_EQ(0u, counted(words, cut));
}

// A reader that has come late, or has missed many descriptions.
TEST(SegmentWords, ALargeGapBeginsAnew) {
  SegmentWords words = loop_and_side();
  describe(words, 900000, 0, 0, 0, {0, 1}, {kEntry});
  EXPECT_EQ(1u, counted(words, {place(1, 900001), place(2, 5)}));
  EXPECT_TRUE(words.knows(Words{place(1, 900000)}));
  EXPECT_FALSE(words.knows(Words{place(1, 5)}));
}

// Not without those of the whole path.
TEST(SegmentWords, WhatIsKnown) {
  SegmentWords words = loop_and_side();
  describe(words, 8, 7, 0, 0, {0, 1}, {kEntry});
  describe(words, 10, 9, 0, 0, {0, 1}, {kEntry});
  for (const uint32_t id : {1u, 3u, 5u}) EXPECT_TRUE(words.knows(Words{place(1, id)})) << id;
  for (const uint32_t id : {0u, 7u, 9u, 11u, 12u})
    EXPECT_FALSE(words.knows(Words{place(1, id)})) << id;
  EXPECT_TRUE(words.goes_on(Words{place(1, 1)}));
  EXPECT_FALSE(words.goes_on(Words{place(1, 2)}));
}

TEST(SegmentWords, OneWithoutATimeGetsThatOfTheRecordBefore) {
  Words in = {lt_word(70, 1, LT_ENTRY), place(0, 2), place(80, 2)};
  passed(in, 0, 3, {2});
  SegmentWords words = loop_and_side();
  words.run(in);
  EXPECT_EQ(place(70, 2), in[1]);
  EXPECT_EQ(80u, lt_time(in[3]));
  Words next = {place(0, 2)};
  words.run(next);
  EXPECT_EQ(place(80, 2), next[0]);
  EXPECT_EQ(4u, words.words());
}

}  // namespace
}  // namespace luatrace::record
