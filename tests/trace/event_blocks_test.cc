// SPDX-License-Identifier: MIT
// EventBlocks: whatever the sizes of the runs, the words come out complete, once and in order, and
// each block's header describes the state before its first word.
#include "trace/trace_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "tests/trace/mini_reader.h"

namespace luatrace {
namespace {

using Words = std::vector<uint64_t>;
constexpr uint64_t kTurn = 1ull << 40;

class EventBlocksTest : public ::testing::Test {
 protected:
  EventBlocksTest() : path_(::testing::TempDir() + "blocks." + std::to_string(getpid())) {
    std::string error;
    const int fd = open_trace(path_, &error);
    writer_ = std::make_unique<TraceWriter>(fd, path_, make_file_header());
    writer_->write_stream(1, lt_stream_info{});
  }
  ~EventBlocksTest() override { unlink(path_.c_str()); }
  mini::File finish() {
    EXPECT_TRUE(writer_->close()) << writer_->error();
    return mini::read(path_);
  }
  const std::string path_;
  std::unique_ptr<TraceWriter> writer_;
};

TEST_F(EventBlocksTest, WordsComeOutAsTheyWentIn) {
  std::mt19937_64 rng(3);
  Words w;
  uint64_t t = 1000;
  uint64_t records = 0;
  while (w.size() < 300000) {
    t += rng() % 100;
    const uint32_t kind = 1 + rng() % 2;
    records++;
    if (rng() % 5 == 0)
      w.insert(w.end(), {lt_word(t, LT_PAYLOAD_BIG, kind), 1 + rng() % 9999999});
    else
      w.push_back(lt_word(t, 1 + rng() % 1000, kind));
  }
  EventBlocks e(*writer_, 1, 1000);
  for (size_t at = 0; at < w.size();) {
    const size_t n = std::min<size_t>(1 + rng() % 20000, w.size() - at);
    const size_t took = e.append(std::span(w).subspan(at, n));
    ASSERT_GE(took + 1, n);  // all but the first half of a torn record
    at += took;
  }
  e.flush();
  const auto file = finish();
  EXPECT_EQ(w, file.words(1));
  uint64_t count = 0;
  for (const auto* b : file.of_type(LT_BLOCK_EVENTS)) {
    count += b->head.count;
    EXPECT_LE(b->head.payload_size, 65536u);
  }
  EXPECT_EQ(records, count);
  EXPECT_EQ(records, e.events());
  EXPECT_EQ(records, writer_->events());
}

TEST_F(EventBlocksTest, HeaderSaysWhatHeldBeforeTheBlock) {
  EventBlocks e(*writer_, 1, 50);
  e.append(Words{lt_word(60, lt_ext(LTX_BLOCK, 3, 0), LT_EXT), 60, 4, 1, lt_word(61, 9, LT_ENTRY),
                 lt_word(70, 8, LT_ENTRY)});
  e.flush();
  e.append(Words{lt_word(80, 8, LT_RETURN)});
  e.mark_gap();
  e.append(Words{lt_word(90, 8, LT_ENTRY)});
  e.flush();
  e.flush();
  const auto file = finish();
  const auto b = file.of_type(LT_BLOCK_EVENTS);
  ASSERT_EQ(3u, b.size());
  EXPECT_EQ(LT_DEPTH_UNKNOWN, b[0]->head.depth);
  EXPECT_EQ(60u, b[0]->head.base_tick);
  EXPECT_EQ(70u, b[0]->head.end_tick);
  EXPECT_EQ(4u, b[1]->head.coroutine);
  EXPECT_EQ(2u, b[1]->head.depth);
  EXPECT_EQ(0, b[1]->head.flags);
  EXPECT_EQ(0u, b[2]->head.coroutine);  // The missing words may have been anything.
  EXPECT_EQ(LT_DEPTH_UNKNOWN, b[2]->head.depth);
  EXPECT_EQ(static_cast<int>(LT_BLOCK_F_GAP), b[2]->head.flags);
}

// A wait of 20 minutes at 3 GHz inside one ring block: a new block with the right base.
TEST_F(EventBlocksTest, ALongWaitBeginsABlock) {
  const uint64_t start = 3 * kTurn + 17, later = start + 3600ull * 1000 * 1000 * 1000;
  EventBlocks e(*writer_, 1, start);
  e.append(Words{lt_word(start + 1, 1, LT_ENTRY)}, start);
  e.append(Words{lt_word(later, 1, LT_RETURN), lt_word(later + 5, 1, LT_ENTRY)}, later - 999);
  e.flush();
  const auto file = finish();
  const auto b = file.of_type(LT_BLOCK_EVENTS);
  ASSERT_EQ(2u, b.size());
  EXPECT_EQ(start + 1, b[0]->head.end_tick);
  EXPECT_EQ(later, b[1]->head.base_tick);
  EXPECT_EQ(later + 5, b[1]->head.end_tick);
  EXPECT_EQ(1u, b[0]->head.count);
  EXPECT_EQ(2u, b[1]->head.count);
}

TEST_F(EventBlocksTest, StopsAtAnUnwrittenWord) {
  EventBlocks e(*writer_, 1, 0);
  EXPECT_EQ(1u, e.append(Words{lt_word(1, 1, LT_ENTRY), 0, lt_word(2, 1, LT_ENTRY)}));
  EXPECT_EQ(0u, e.append(Words{0, 5}));
  EXPECT_EQ(0u, e.append(Words{lt_word(2, LT_PAYLOAD_BIG, LT_ENTRY)}));
  EXPECT_EQ(1u, e.pending_words());
}

}  // namespace
}  // namespace luatrace
