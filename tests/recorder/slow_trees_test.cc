// SPDX-License-Identifier: MIT
// --only-slow: which thread runs a call that is written, also if the Lua VM moves to another one
// while the call waits.
#include "recorder/drain/slow_trees.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/trace/mini_reader.h"
#include "trace/open_output.h"
#include "trace/records.h"
#include "trace/word_scanner.h"

namespace luatrace::record {
namespace {

constexpr uint32_t kFunction = 5, kThread = 7, kNext = 8;

uint64_t ext(uint64_t tick, uint32_t sub, uint32_t words) {
  return lt_word(tick, lt_ext(sub, words, 0), LT_EXT);
}

// The threads that the words name, in their order.
std::vector<uint32_t> threads_of(std::span<const uint64_t> words) {
  std::vector<uint32_t> threads;
  for (; !words.empty(); words = words.subspan(record_words(words[0]))) {
    if (sub_of(words[0]) == LTX_BLOCK) threads.push_back(lt_lo(words[3]));
    if (sub_of(words[0]) == LTX_THREAD) threads.push_back(lt_lo(words[1]));
  }
  return threads;
}

TEST(SlowTrees, ThreadsAreThoseOfTheLuaVm) {
  const std::string path = ::testing::TempDir() + "slow_trees." + std::to_string(getpid());
  std::string error;
  auto out = std::make_unique<TraceWriter>(open_trace(path, &error), path, make_file_header());
  std::vector<WatchRule> rules = {{"handle", 10, false}};
  TraceWriter in(std::make_unique<SlowTrees>(std::move(out), rules, 0, [] { return ClockRate{}; }),
                 path, make_file_header());
  in.write_stream(1, lt_stream_info{});
  std::vector<std::byte> records;
  lt_func f{};
  f.id = kFunction;
  f.type = LT_FUNC_LUA;
  append_func(records, f, "@a.lua", "handle");
  in.write_funcs(1, 1, records);
  const uint64_t words[] = {ext(1, LTX_START, 2),
                            1,
                            lt_pack(1, 0),
                            ext(1, LTX_BLOCK, 3),
                            1,
                            lt_pack(1, 0),
                            lt_pack(kThread, 1),
                            ext(2, LTX_CREATE, 1),
                            2,
                            lt_word(3, 2, LT_RESUME),
                            lt_word(4, kFunction, LT_ENTRY),
                            lt_word(5, LTS_YIELD, LT_SUSPEND),
                            ext(1000, LTX_THREAD, 1),
                            kNext,
                            lt_word(1001, 2, LT_RESUME),
                            lt_word(1002, kFunction, LT_RETURN)};
  EventBlockInfo info;
  info.stream = 1;
  info.count = 9;
  info.base_tick = 1;
  info.end_tick = 1002;
  in.write_events(info, words);
  in.close();
  const mini::File file = mini::read(path);
  unlink(path.c_str());
  EXPECT_EQ((std::vector<uint32_t>{kThread, kNext}), threads_of(file.words(1)));
}

}  // namespace
}  // namespace luatrace::record
