// SPDX-License-Identifier: MIT
// --watch: the request that a Lua VM gets, and what comes back from its ring.
#include "recorder/watch_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "luatrace_watch.h"
#include "recorder/drain/watch_log.h"

namespace luatrace::record {
namespace {

std::string request(const std::string& condition) {
  const std::string text = watch_request({{"f"}, {}, condition, 0, 1});
  const std::string before = "F f\nD 1\n";
  EXPECT_EQ(text.substr(0, before.size()), before);
  return text.substr(before.size());
}

std::string refusal(const std::string& condition) {
  try {
    return "none: " + request(condition);
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(WatchRequest, HasPlacesItemsDepthAndCount) {
  EXPECT_EQ(watch_request({{"app/a.lua:12", "obj:method"}, {"args", "a.b", "traceback"}, "", 7, 3}),
            "L 12 app/a.lua\nF obj:method\nP args\nV a.b\nP traceback\nD 3\nN 7\n");
}

TEST(WatchRequest, ConditionsAreInPostfixOrder) {
  EXPECT_EQ(request("n > 5 and name == \"x\""), "v n\nn 5\no >\nv name\ns x\no =\no &\n");
  EXPECT_EQ(request("a or not b.c and d <= -1.5e3"),
            "v a\nv b.c\no !\nv d\nn -1.5e3\no [\no &\no |\n");
  EXPECT_EQ(request("(a or b) and c ~= nil"), "v a\nv b\no |\nv c\nk nil\no ~\no &\n");
  EXPECT_EQ(request("'it\\'s' ~= x"), "s it's\nv x\no ~\n");
}

TEST(WatchRequest, MistakesHaveAPosition) {
  EXPECT_EQ(refusal("n == "), "--when: position 6: a value is missing");
  EXPECT_EQ(refusal("n = 1"),
            "--when: position 3: unknown operator; there are == ~= < > <= >= and or not");
  EXPECT_EQ(refusal("a b"), "--when: position 3: unexpected 'b'");
  EXPECT_EQ(refusal("1e999 == a"), "--when: position 1: not a number");
  const std::string no_newline = "a string cannot contain a newline or a zero byte";
  EXPECT_EQ(refusal("a == 'b\nc'"), "--when: position 8: " + no_newline);
  EXPECT_EQ(refusal("a == 'b\\nc'"), "--when: position 8: " + no_newline);
  EXPECT_EQ(refusal("a == '\\0'"), "--when: position 7: " + no_newline);
  EXPECT_EQ(refusal("a == '\\256'"), "--when: position 7: an escape is beyond 255");
  EXPECT_EQ(refusal("a == 'b\\y'"), "--when: position 8: unknown escape");
  EXPECT_EQ(refusal("a == '\\x1'"), "--when: position 7: unknown escape");
  EXPECT_EQ(refusal("a == 'b\\"), "--when: position 6: the string does not end");
}

TEST(WatchRequest, StringsHaveLuasEscapes) {
  EXPECT_EQ(request("a == '\\t\\\\\\065\\x42\\1c'"), "v a\ns \t\\AB\1c\no =\n");
}

// -- What comes back --

constexpr ClockRate kRate = {1, 0};

std::vector<uint64_t> record(uint32_t arg, const std::string& text) {
  std::vector<uint64_t> words = {0, lt_pack(1, 2)};
  for (size_t i = 0; i < text.size(); i += LT_TEXT_BYTES) {
    const std::string part = text.substr(i, LT_TEXT_BYTES);
    uint64_t w = part.size();
    for (size_t k = 0; k < part.size(); k++)
      w |= uint64_t{static_cast<unsigned char>(part[k])} << (8 * (k + 1));
    words.push_back(w);
  }
  words[0] = lt_word(5, lt_ext(LTX_WATCH, words.size() - 1, arg), LT_EXT);
  return words;
}

class WatchLogTest : public ::testing::Test {
 protected:
  void read(const std::vector<uint64_t>& words) {
    reader_.read(words, [] { return kRate; });
  }
  // Without the time.
  std::string lines() {
    std::string text = log_.next(1 << 20);
    log_.written(text.size());
    return text.size() < 16 ? text : text.substr(16);
  }

  WatchLog log_;
  WatchReader reader_{log_, 4711, LT_CLOCK_MONOTONIC, false};
};

TEST_F(WatchLogTest, PiecesAreOneText) {
  read(record(LTW_HIT | LTW_MORE, "a.lua:1 f: a"));
  EXPECT_EQ(lines(), "");
  read(record(LTW_HIT, "=1"));
  EXPECT_EQ(lines(), "a.lua:1 f: a=1\n");
}

TEST_F(WatchLogTest, ALossInTheMiddleDropsTheBeginning) {
  read(record(LTW_HIT | LTW_MORE, "a.lua:1 f: "));
  read({lt_word(5, lt_ext(LTX_LOSS, 2, 0), LT_EXT), 2, 1});
  read(record(LTW_HIT, "the rest"));
  EXPECT_EQ(lines(), "the rest\n");
}

TEST_F(WatchLogTest, ControlCharactersAreEscaped) {
  read(record(LTW_HIT, "x\033[31m\n  y\r"));
  EXPECT_EQ(lines(), "x\\x1b[31m\n  y\\x0d\n");
}

TEST_F(WatchLogTest, WhatNobodyReadsIsBounded) {
  for (int i = 0; i < 200000; i++) read(record(LTW_HIT, std::string(98, 'x')));
  EXPECT_LE(log_.next(1 << 30).size(), WatchLog::kMaxBytes);
  EXPECT_GT(log_.dropped(), 10000u);
  EXPECT_EQ(200000u, log_.dropped() + log_.lines());
}

// What is written in parts, while more comes, is all of it, in its order.
TEST_F(WatchLogTest, PartsAreWrittenOnce) {
  std::string all;
  for (int i = 0; i < 2000; i++) {
    read(record(LTW_HIT, "i=" + std::to_string(i)));
    const std::string part = log_.next(17 + i % 40);
    all += part;
    log_.written(part.size());
  }
  while (log_.held() > 0) {
    const std::string part = log_.next(50);
    all += part;
    log_.written(part.size());
  }
  EXPECT_EQ("", log_.next(50));
  size_t at = 0;
  for (int i = 0; i < 2000; i++) {
    at = all.find("i=" + std::to_string(i) + "\n", at);
    ASSERT_NE(std::string::npos, at) << i;
  }
  EXPECT_EQ(2000, std::count(all.begin(), all.end(), '\n'));
}

TEST_F(WatchLogTest, EndlessPiecesAreBounded) {
  for (int i = 0; i < 1000; i++) read(record(LTW_HIT | LTW_MORE, std::string(98, 'x')));
  EXPECT_LE(lines().size(), 1000u * 100);
  EXPECT_GE(log_.silent_places(3).size(), 2u);
}

TEST_F(WatchLogTest, MessagesComeOnce) {
  for (int i = 0; i < 3; i++) read(record(LTW_NOLINE, "a.lua:3: no code"));
  read(record(LTW_FOUND, "f: found"));
  EXPECT_EQ(log_.messages(false), std::vector<std::string>{"--watch a.lua:3: no code"});
  EXPECT_TRUE(log_.messages(true).empty());
  read(record(LTW_DONE, "3 hits"));
  EXPECT_TRUE(log_.is_done(4711));
  EXPECT_FALSE(log_.is_done(4712));
}

TEST_F(WatchLogTest, UnknownAndCutRecordsAreSkipped) {
  read({lt_word(5, lt_ext(LTX_WATCH, 1, 7), LT_EXT), lt_pack(1, 99)});
  std::vector<uint64_t> cut = record(LTW_HIT, "abcdefghijklmnop");
  cut.pop_back();
  read(cut);
  read(record(7, "of a later version"));
  EXPECT_EQ(lines(), "");
}

}  // namespace
}  // namespace luatrace::record
