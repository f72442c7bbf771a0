// SPDX-License-Identifier: MIT
// WordScanner: records are cut where they should be, time is unwrapped, coroutine and depth are
// what the rules of luatrace_format.h say.
#include "trace/word_scanner.h"

#include <gtest/gtest.h>

#include <random>

namespace luatrace {
namespace {

using Words = std::vector<uint64_t>;
using Stop = WordScanner::Stop;
constexpr uint64_t kTurn = 1ull << 40;

uint64_t ext(uint64_t t, uint32_t sub, uint32_t nwords, uint32_t arg = 0) {
  return lt_word(t, lt_ext(sub, nwords, arg), LT_EXT);
}

TEST(WordScanner, StopsAtZeroAndAtIncompleteRecords) {
  WordScanner s(0);
  const uint64_t big = lt_word(3, LT_PAYLOAD_BIG, LT_ENTRY);
  Words w = {lt_word(1, 5, LT_ENTRY), big, 3000000, 0, lt_word(9, 5, LT_RETURN)};
  auto r = s.scan(w);
  EXPECT_EQ(3u, r.words);
  EXPECT_EQ(2u, r.events);
  EXPECT_EQ(Stop::kZero, r.stop);
  EXPECT_EQ(2u, s.depth());

  w = {lt_word(10, 5, LT_RETURN), big};
  r = s.scan(w);
  EXPECT_EQ(1u, r.words);
  EXPECT_EQ(Stop::kIncomplete, r.stop);
  w = {ext(11, LTX_BLOCK, 3), 11, 0, 7};
  EXPECT_EQ(Stop::kIncomplete, s.scan(w).stop);
  w = {ext(11, LTX_BLOCK, 3), 11, 4, 7};
  r = s.scan(w);
  EXPECT_EQ(4u, r.words);
  EXPECT_EQ(1u, r.events);
  EXPECT_EQ(Stop::kEnd, r.stop);
  EXPECT_EQ(4u, s.coroutine());
}

// A suspension with a payload of all ones, and an unknown kind of extension, are one record each.
TEST(WordScanner, CountsWordsOfOddRecords) {
  EXPECT_EQ(0u, record_words(0));
  EXPECT_EQ(1u, record_words(lt_word(1, LT_PAYLOAD_BIG, LT_SUSPEND)));
  EXPECT_EQ(2u, record_words(lt_word(1, LT_PAYLOAD_BIG, LT_FRAME)));
  EXPECT_EQ(16u, record_words(ext(1, 60, 15)));
}

TEST(WordScanner, UnwrapsFromWordToWord) {
  WordScanner s(kTurn * 5 - 10);
  const Words w = {lt_word(kTurn - 5, 1, LT_ENTRY), lt_word(3, 1, LT_RETURN)};
  EXPECT_EQ(2u, s.scan(w).words);
  EXPECT_EQ(kTurn * 5 + 3, s.tick());
  EXPECT_EQ(0u, s.clock_backwards());
}

TEST(WordScanner, AStepBackIsCountedAndNotATurn) {
  WordScanner s(1000);
  const Words w = {lt_word(2000, 1, LT_ENTRY), lt_word(1990, 1, LT_RETURN),
                   lt_word(2010, 1, LT_ENTRY)};
  EXPECT_EQ(3u, s.scan(w).words);
  EXPECT_EQ(2010u, s.tick());
  EXPECT_EQ(1u, s.clock_backwards());
}

// Silence for more than three turns: only the recorder's own clock shows it.
TEST(WordScanner, AnIdleGapOfSeveralTurns) {
  const uint64_t start = 7 * kTurn + 500;
  for (const uint64_t gap :
       {kTurn / 2 + 1, kTurn - 3, kTurn, 3 * kTurn + 77, 3 * kTurn + kTurn / 2}) {
    WordScanner s(start);
    const Words before = {lt_word(start + 1, 1, LT_ENTRY)};
    EXPECT_EQ(Stop::kEnd, s.scan(before, start).stop);
    const uint64_t then = start + gap;
    const Words after = {lt_word(then, 1, LT_RETURN), lt_word(then + 9, 1, LT_ENTRY)};
    auto r = s.scan(after, then - 12345);
    EXPECT_EQ(0u, r.words);
    EXPECT_EQ(Stop::kTimeJump, r.stop);
    r = s.scan(after, then - 12345);
    EXPECT_EQ(2u, r.words);
    EXPECT_EQ(then + 9, s.tick());
    EXPECT_EQ(0u, s.clock_backwards());
  }
}

// The word's clock was read before the recorder's pass, but it was stored after that.
TEST(WordScanner, AWordOlderThanTheLastPass) {
  WordScanner s(kTurn + 100);
  const Words w = {lt_word(kTurn + 200, 1, LT_ENTRY)};
  EXPECT_EQ(1u, s.scan(w, kTurn + 5000).words);
  EXPECT_EQ(kTurn + 200, s.tick());
}

TEST(WordScanner, ARecordWithAFullClockDecides) {
  WordScanner s(0);
  const uint64_t full = 9 * kTurn + 4321;
  const Words w = {ext(full, LTX_BLOCK, 3), full, 2, lt_pack(7, 1), lt_word(full + 5, 1, LT_ENTRY)};
  EXPECT_EQ(Stop::kTimeJump, s.scan(w).stop);
  EXPECT_EQ(5u, s.scan(w).words);
  EXPECT_EQ(full + 5, s.tick());
  EXPECT_EQ(2u, s.coroutine());
}

TEST(WordScanner, DepthPerCoroutine) {
  WordScanner s(0);
  uint64_t t = 1;
  auto feed = [&](Words w) { EXPECT_EQ(w.size(), s.scan(w).words); };
  feed({ext(t, LTX_BLOCK, 3), t, 1, 1});
  feed({lt_word(2, 1, LT_ENTRY), lt_word(3, 2, LT_ENTRY)});
  feed({ext(4, LTX_CREATE, 1), 2, lt_word(5, 2, LT_RESUME), lt_word(6, 3, LT_ENTRY)});
  EXPECT_EQ(2u, s.coroutine());
  EXPECT_EQ(1u, s.depth());
  feed({lt_word(7, LTS_YIELD, LT_SUSPEND)});
  EXPECT_EQ(1u, s.coroutine());
  EXPECT_EQ(2u, s.depth());
  feed({lt_word(8, 2, LT_TAIL), lt_word(9, 4, LT_ENTRY), lt_word(10, 5, LT_ENTRY)});
  EXPECT_EQ(3u, s.depth());
  feed({ext(11, LTX_UNWIND, 1), lt_pack(2, 1)});
  EXPECT_EQ(1u, s.depth());
  feed({lt_word(12, 2, LT_RESUME)});
  EXPECT_EQ(1u, s.depth());
  feed({lt_word(13, LTS_ERROR, LT_SUSPEND), ext(14, LTX_SWITCH, 1), 2});
  EXPECT_EQ(0u, s.depth());
  feed({ext(15, LTX_STACK, 2), 9, 3, lt_word(16, 1, LT_FRAME), lt_word(17, 2, LT_FRAME)});
  EXPECT_EQ(9u, s.coroutine());
  EXPECT_EQ(2u, s.depth());
}

TEST(WordScanner, LossMakesDepthsUnknown) {
  TimeSpans lost_time;
  WordScanner s(100, &lost_time);
  auto feed = [&](Words w) { EXPECT_EQ(w.size(), s.scan(w).words); };
  feed({ext(101, LTX_BLOCK, 3), 101, 1, 1, lt_word(102, 1, LT_ENTRY)});
  feed({ext(500, LTX_LOSS, 2), 41, 200});
  EXPECT_EQ(LT_DEPTH_UNKNOWN, s.depth());
  EXPECT_EQ(40u, s.lost_events());
  EXPECT_EQ(300u, lost_time.covered(0, 1000));
  EXPECT_EQ(1u, s.losses());
  EXPECT_EQ(0u, s.coroutine());  // The coroutine that was current before may no longer be.
  feed({ext(501, LTX_STACK, 2), 1, 2, lt_word(502, 1, LT_FRAME)});
  EXPECT_EQ(1u, s.depth());
  feed({lt_word(503, 70000, LT_RESUME)});
  EXPECT_EQ(LT_DEPTH_UNKNOWN, s.depth());
}

// Resumers are known only if nothing was lost since.
TEST(WordScanner, ResumersBeforeALossAreUnknown) {
  WordScanner s(0);
  auto feed = [&](Words w) { EXPECT_EQ(w.size(), s.scan(w).words); };
  feed({ext(1, LTX_BLOCK, 3), 1, 1, 1, lt_word(2, 2, LT_RESUME)});
  feed({ext(3, LTX_LOSS, 2), 41, 2, ext(4, LTX_STACK, 2), 2, 1});
  EXPECT_EQ(2u, s.coroutine());
  feed({lt_word(5, LTS_YIELD, LT_SUSPEND)});
  EXPECT_EQ(0u, s.coroutine());
  feed({ext(6, LTX_SWITCH, 1), 1, lt_word(7, 3, LT_RESUME), lt_word(8, LTS_YIELD, LT_SUSPEND)});
  EXPECT_EQ(1u, s.coroutine());
  s.forget();
  EXPECT_EQ(0u, s.coroutine());
  EXPECT_EQ(LT_DEPTH_UNKNOWN, s.depth());
}

TEST(WordScanner, AReturnTooManyMakesTheDepthUnknown) {
  WordScanner s(0);
  const Words w = {ext(1, LTX_BLOCK, 3),   1, 1, 1, lt_word(2, 1, LT_RETURN),
                   lt_word(3, 1, LT_ENTRY)};
  s.scan(w);
  EXPECT_EQ(LT_DEPTH_UNKNOWN, s.depth());
}

// The fast path against the same words fed one record at a time.
TEST(WordScanner, RunsAndSingleRecordsAgree) {
  std::mt19937_64 rng(11);
  Words w;
  uint64_t t = 5 * kTurn - 3000;
  const uint64_t start = t;
  for (int i = 0; i < 20000; i++) {
    t += rng() % 300;
    const uint32_t kind = 1 + rng() % 3, id = 1 + rng() % 70000;
    if (rng() % 64 == 0)
      w.insert(w.end(), {lt_word(t, id, LT_RESUME)});
    else if (rng() % 64 == 0)
      w.insert(w.end(), {lt_word(t, LT_PAYLOAD_BIG, kind), id});
    else
      w.push_back(lt_word(t, id, kind));
  }
  WordScanner whole(start), single(start);
  const auto r = whole.scan(w);
  EXPECT_EQ(w.size(), r.words);
  uint64_t events = 0;
  for (size_t i = 0; i < w.size();) {
    const size_t n = record_words(w[i]);
    const auto one = single.scan(std::span(w).subspan(i, n));
    ASSERT_EQ(n, one.words) << i;
    events += one.events;
    i += n;
  }
  EXPECT_EQ(events, r.events);
  EXPECT_EQ(single.tick(), whole.tick());
  EXPECT_EQ(single.coroutine(), whole.coroutine());
  EXPECT_EQ(single.depth(), whole.depth());
}

// Any bits whatever: it must come to an end and stay inside (the sanitizers watch).
TEST(WordScanner, GarbageIsHarmless) {
  std::mt19937_64 rng(13);
  for (int round = 0; round < 200; round++) {
    Words w(300);
    for (auto& x : w) x = rng() >> (rng() % 50);
    WordScanner s(rng());
    size_t at = 0;
    for (int step = 0; step < 2000 && at < w.size(); step++) {
      const auto r = s.scan(std::span(w).subspan(at), rng());
      at += r.words + (r.stop == Stop::kZero || r.stop == Stop::kIncomplete);
    }
    EXPECT_GE(at, w.size());
  }
}

}  // namespace
}  // namespace luatrace
