// SPDX-License-Identifier: MIT
// OpenCalls: a reader that begins with its report knows as much as one that has seen everything.
#include "trace/open_calls.h"

#include <gtest/gtest.h>

#include <random>

#include "trace/word_scanner.h"

namespace luatrace {
namespace {

using Words = std::vector<uint64_t>;

void ext(Words& w, uint32_t sub, uint32_t arg, std::initializer_list<uint64_t> words) {
  w.push_back(lt_word(1, lt_ext(sub, words.size(), arg), LT_EXT));
  w.insert(w.end(), words);
}

// One record; ids that do not fit into a word, too.
void random_record(std::mt19937& rng, Words& w) {
  const uint32_t co = 1 + rng() % 6, id = rng() % 9 == 0 ? 3'000'000 : 1 + rng() % 50;
  const bool big = id >= LT_PAYLOAD_BIG;
  const auto plain = [&](uint32_t kind) {
    w.push_back(lt_word(1, big ? LT_PAYLOAD_BIG : id, kind));
    if (big) w.push_back(id);
  };
  const uint64_t key = 1 + rng() % 3, value = rng() % 3, name = 1 + rng() % 3;
  switch (rng() % 20) {
    case 0:
      return w.push_back(lt_word(1, co, LT_RESUME));
    case 1:
      return w.push_back(lt_word(1, rng() % 3, LT_SUSPEND));
    case 2:
      return ext(w, LTX_SWITCH, 0, {co});
    case 3:
      return ext(w, LTX_CREATE, 0, {co});
    case 4:
      return ext(w, LTX_COLLECT, 0, {co});
    case 5:
      return ext(w, LTX_UNWIND, rng() % 2, {lt_pack(1 + rng() % 3, LT_ID_UNKNOWN)});
    case 6:
      return ext(w, LTX_REQUEST, 0, {co, 1 + rng() % 5});
    case 7:
      ext(w, LTX_STACK, 0, {co, 3});
      w.insert(w.end(), 2, lt_word(1, 7, LT_FRAME));
      return;
    case 8:
      if (rng() % 20 == 0) ext(w, LTX_LOSS, 0, {9, 1});
      return;
    case 9:
      if (value == 0) return ext(w, LTX_LABEL, LTL_SET, {lt_pack(co, 1), key});
      return ext(w, LTX_LABEL, LTL_SET, {lt_pack(co, 1), key, value});
    case 10:
      if (rng() % 9 == 0) return ext(w, LTX_LABEL, LTL_CLEAR, {lt_pack(co, 0)});
      return ext(w, LTX_MARK, LTM_BEGIN, {co, name, 9});
    case 11:
      return ext(w, LTX_MARK, rng() % 3 == 0 ? LTM_OPEN : LTM_END, {co, name, 9});
    case 12:
    case 13:
    case 14:
      return plain(LT_RETURN);
    default:
      return plain(LT_ENTRY);
  }
}

void expect_same(const OpenCalls& all, const OpenCalls& rest, const std::string& where) {
  EXPECT_EQ(all.current(), rest.current()) << where;
  for (uint32_t id = 1; id <= 6; id++) {
    const auto *a = all.find(id), *b = rest.find(id);
    if (a == nullptr || !a->known) continue;  // it cannot be reported
    ASSERT_NE(b, nullptr) << where << ", coroutine " << id;
    EXPECT_EQ(a->calls, b->calls) << where << ", coroutine " << id;
    EXPECT_TRUE(b->known) << where << ", coroutine " << id;
    EXPECT_EQ(a->request, b->request) << where << ", coroutine " << id;
    EXPECT_TRUE(a->marks == b->marks) << where << ", coroutine " << id;
  }
}

TEST(OpenCalls, AReaderMayBeginAnywhere) {
  for (uint32_t seed = 0; seed < 300; seed++) {
    std::mt19937 rng(seed);
    Words before, after;
    ext(before, LTX_BLOCK, 0, {1, 1, lt_pack(42, 1)});
    while (before.size() < 60) random_record(rng, before);
    while (after.size() < 30) random_record(rng, after);
    OpenCalls all, rest;
    all.apply(before);
    rest.apply(all.report(1, 1, 0));
    expect_same(all, rest, "seed " + std::to_string(seed) + ", at the cut");
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(OpenCalls, AReportOfAStackMayBeCut) {
  Words w;
  ext(w, LTX_STACK, 0, {1, 4});
  w.push_back(lt_word(1, 7, LT_FRAME));
  OpenCalls all, rest;
  all.apply(w);
  const Words report = all.report(1, 1, 0);
  rest.apply(report);
  const Words frames(2, lt_word(1, 8, LT_FRAME));
  rest.apply(frames);
  EXPECT_EQ(rest.find(1)->calls, (std::vector<uint32_t>{7, 8, 8}));
  EXPECT_EQ(rest.find(1)->more, 0u);
  // The record says how many frames follow, those of the next block included.
  uint64_t said = 0;
  for (size_t at = 0; at < report.size(); at += record_words(report[at]))
    if (sub_of(report[at]) == LTX_STACK) said = report[at + 2] - 1;
  EXPECT_EQ(said, 3u);
}

TEST(OpenCalls, WhatIsNotKnownIsNotReported) {
  Words w;
  ext(w, LTX_STACK, 0, {1, 1});
  w.push_back(lt_word(1, 7, LT_ENTRY));
  ext(w, LTX_LOSS, 0, {9, 1});
  ext(w, LTX_SWITCH, 0, {1});
  w.push_back(lt_word(1, 8, LT_ENTRY));
  OpenCalls all, rest;
  all.apply(w);
  EXPECT_FALSE(all.find(1)->known);
  const Words report = all.report(1, 1, 0);
  EXPECT_EQ(lt_ext_arg(lt_payload(report[0])), LT_START_ATTACHED);
  rest.apply(report);
  EXPECT_EQ(rest.current(), 1u);
  for (const uint64_t word : report) EXPECT_NE(lt_kind(word), uint32_t{LT_FRAME});
}

TEST(OpenCalls, MemoryIsBounded) {
  const Words entries(8192, lt_word(1, 7, LT_ENTRY));
  OpenCalls all;
  for (size_t n = 0; n < OpenCalls::kMaxCalls + 2 * entries.size(); n += entries.size())
    all.apply(entries);
  EXPECT_LE(all.here().calls.size(), OpenCalls::kMaxCalls);
  EXPECT_FALSE(all.here().known);
  Words resumes;
  for (uint32_t id = 1; id <= OpenCalls::kMaxCoroutines + 9; id++) {
    resumes.push_back(lt_word(1, id, LT_RESUME));
    resumes.push_back(lt_word(1, 7, LT_ENTRY));
  }
  all.apply(resumes);
  EXPECT_EQ(all.find(1), nullptr);
}

TEST(OpenCalls, MarksAreBoundedAndEnd) {
  Words w;
  ext(w, LTX_STACK, 0, {1, 1});
  for (uint64_t key = 1; key <= 2 * Marks::kMaxLabels; key++)
    ext(w, LTX_LABEL, LTL_SET, {lt_pack(1, 1), key, 7});
  OpenCalls all;
  all.apply(w);
  const Marks marks = all.find(1)->marks;
  EXPECT_GT(marks.words(), Marks::kMaxLabels);
  for (uint32_t id = 2; id <= OpenCalls::kMaxCoroutines / 2; id++) {
    Words create;
    ext(create, LTX_CREATE, 0, {id});
    all.apply(create);
  }
  EXPECT_TRUE(all.find(2)->marks == marks);
  EXPECT_EQ(all.find(OpenCalls::kMaxCoroutines / 2)->marks.words(), 0u);  // not known
  Words collect;
  ext(collect, LTX_COLLECT, 0, {2});
  ext(collect, LTX_CREATE, 0, {2});  // there is space again
  all.apply(collect);
  EXPECT_TRUE(all.find(2)->marks == marks);
}

}  // namespace
}  // namespace luatrace
