// SPDX-License-Identifier: MIT
// Words of several segments: their places, and those that are impossible.
#include "trace/packed_word.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "trace/word_scanner.h"

namespace luatrace {
namespace {

constexpr uint64_t kPlace = LT_PACKED_PLACE;

uint64_t word(std::initializer_list<uint64_t> items) {
  uint64_t all = 0;
  for (const uint64_t item : items) all = all << LT_PACKED_BITS | item;
  return lt_packed_word(all);
}

uint64_t iterations(uint64_t level, uint64_t n) {
  return level * LT_PACKED_COUNTS + n;
}

std::string places(uint64_t w) {
  std::string text;
  const PackedWord packed(w);
  for (const auto& place : packed.places()) {
    text += std::to_string(place.id);
    for (const uint64_t n : place.counts) text += ',' + std::to_string(n - 1);
    text += ' ';
  }
  return text;
}

TEST(PackedWord, PlacesInOrder) {
  EXPECT_EQ("7,0,0,0,0 ", places(word({kPlace + 7})));
  EXPECT_EQ("7,0,0,0,0 9,0,0,0,0 ", places(word({kPlace + 7, kPlace + 9})));
  EXPECT_EQ("7,0,0,0,0 9,0,0,0,0 1047551,0,0,0,0 ",
            places(word({kPlace + 7, kPlace + 9, LT_PACKED - 1})));
}

TEST(PackedWord, IterationsAreOfTheNextPlace) {
  EXPECT_EQ("9,255,0,0,0 ", places(word({iterations(0, 255), kPlace + 9})));
  EXPECT_EQ("9,0,0,0,1 8,0,0,0,0 ", places(word({iterations(3, 1), kPlace + 9, kPlace + 8})));
  EXPECT_EQ("9,0,0,0,0 8,0,2,0,0 ", places(word({kPlace + 9, iterations(1, 2), kPlace + 8})));
  EXPECT_EQ("9,4,0,5,0 ", places(word({iterations(0, 4), iterations(2, 5), kPlace + 9})));
}

TEST(PackedWord, WhatIsImpossible) {
  for (const uint64_t w : {word({0}), word({5}), word({kPlace + 9, 5}), word({5, 6, kPlace + 9}),
                           word({kPlace + 9, 0, kPlace + 9}), word({5, 0, kPlace + 9}),
                           word({kPlace + 9, kPlace + 9, 0}), word({iterations(1, 0), kPlace + 9}),
                           word({iterations(2, 1), iterations(1, 1), kPlace + 9})})
    EXPECT_TRUE(PackedWord(w).is_malformed()) << places(w);
}

TEST(PackedWord, IsNoOtherWord) {
  const uint64_t packed = word({kPlace + 7, kPlace + 9, LT_PACKED - 1});
  EXPECT_TRUE(lt_is_packed(packed));
  EXPECT_TRUE(is_segment(packed));
  EXPECT_EQ(1u, record_words(packed));
  EXPECT_FALSE(
      lt_is_packed(lt_word(~uint64_t{0}, LT_SEGMENT_FIRST + LT_SEGMENT_IDS - 1, LT_SUSPEND)));
  EXPECT_FALSE(lt_is_packed(lt_word(1, LT_PAYLOAD_BIG, LT_ENTRY)));
}

TEST(PackedWord, HasNoTime) {
  const uint64_t packed = word({LT_PACKED - 1, LT_PACKED - 1, LT_PACKED - 1});
  const uint64_t words[] = {packed, lt_word(120, 1, LT_ENTRY), packed, lt_word(130, 1, LT_RETURN)};
  WordScanner scanner(100);
  EXPECT_EQ(100u, scanner.tick_of({words, 1}, 0));
  const WordScanner::Result r = scanner.scan(words);
  EXPECT_EQ(4u, r.words);
  EXPECT_EQ(WordScanner::Stop::kEnd, r.stop);
  EXPECT_EQ(130u, scanner.tick());
  EXPECT_EQ(0u, scanner.clock_backwards());
}

}  // namespace
}  // namespace luatrace
