// SPDX-License-Identifier: MIT
// Samples: an independent reader reads what was written, in blocks of a bounded size.
#include "trace/sample_blocks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/trace/mini_reader.h"
#include "trace/packing.h"
#include "trace/records.h"

namespace luatrace {
namespace {

struct Sample {
  lt_sample head;
  std::vector<uint64_t> frames;
};

std::vector<Sample> parse(const std::string& payload) {
  std::vector<Sample> all;
  for (size_t at = 0; at < payload.size(); at += all.back().head.size) {
    Sample& s = all.emplace_back();
    std::memcpy(&s.head, &payload.at(at), sizeof s.head);
    s.frames.resize(s.head.nframes);
    EXPECT_EQ(sizeof s.head + 8 * s.frames.size(), s.head.size);
    if (!s.frames.empty())
      std::memcpy(s.frames.data(), &payload.at(at + sizeof s.head), 8 * s.frames.size());
  }
  return all;
}

lt_sample sample_at(uint64_t tick) {
  lt_sample s{};
  s.tick = tick;
  s.weight_ns = 10;
  return s;
}

class SampleBlocksTest : public ::testing::Test {
 protected:
  SampleBlocksTest() : path_(::testing::TempDir() + "samples." + std::to_string(getpid())) {}
  ~SampleBlocksTest() override { unlink(path_.c_str()); }
  int open_file() {
    std::string error;
    return open_trace(path_, &error);
  }
  const std::string path_;
};

TEST_F(SampleBlocksTest, SamplesComeBack) {
  TraceWriter w(open_file(), path_, make_file_header());
  lt_stream_info info{};
  info.flags = LTF_SAMPLED;
  w.write_stream(3, info);
  SampleBlocks blocks(w, 3);
  const uint64_t frames[] = {function_frame(7, 21), sample_frame(LT_FRAME_COROUTINE, 2),
                             sample_frame(LT_FRAME_NATIVE, 0x7fffdeadbeefu)};
  blocks.add(sample_at(200), frames);
  blocks.add(sample_at(190), {});  // Threads differ by a little.
  blocks.flush();
  blocks.flush();
  blocks.add(sample_at(300), std::span(frames).first(1));
  blocks.flush();
  EXPECT_TRUE(w.write_end({}));
  ASSERT_TRUE(w.close());
  EXPECT_EQ(3u, blocks.samples());

  const mini::File file = mini::read(path_);  // checks the sequence numbers
  const auto found = file.of_type(LT_BLOCK_SAMPLES, 3);
  ASSERT_EQ(2u, found.size());
  EXPECT_EQ(190u, found[0]->head.base_tick);
  EXPECT_EQ(200u, found[0]->head.end_tick);
  EXPECT_EQ(2u, found[0]->head.count);
  const auto samples = parse(found[0]->payload);
  ASSERT_EQ(2u, samples.size());
  ASSERT_EQ(3u, samples[0].frames.size());
  EXPECT_EQ(0x15000000071u, samples[0].frames[0]);
  EXPECT_EQ(0x24u, samples[0].frames[1]);
  EXPECT_EQ(0x7fffdeadbeef2u, samples[0].frames[2]);
  EXPECT_EQ(0u, samples[1].head.nframes);
  EXPECT_EQ(3u, file.blocks.back().as<lt_end_info>().events);
}

TEST_F(SampleBlocksTest, BlocksAreShortAndStacksEnd) {
  TraceWriter w(open_file(), path_, make_file_header());
  w.write_stream(1, lt_stream_info{});
  SampleBlocks blocks(w, 1);
  const std::vector<uint64_t> deep(LT_SAMPLE_FRAMES_MAX + 1, function_frame(1));
  for (int i = 0; i < 20; i++) blocks.add(sample_at(100), deep);
  blocks.flush();
  ASSERT_TRUE(w.close());
  size_t n = 0;
  const mini::File file = mini::read(path_);
  for (const auto* block : file.of_type(LT_BLOCK_SAMPLES, 1)) {
    EXPECT_LE(block->payload.size(), LT_PACKED_MAX);
    for (const Sample& s : parse(block->payload)) {
      EXPECT_EQ(LT_SAMPLE_FRAMES_MAX, s.head.nframes);
      EXPECT_EQ(LTS_TRUNCATED, s.head.flags);
      n++;
    }
  }
  EXPECT_EQ(20u, n);
}

// Bytes are compressed as they are: their times are no words.
TEST_F(SampleBlocksTest, CompressedOnesComeBack) {
  std::vector<std::byte> records;
  const std::vector<uint64_t> frames(50, function_frame(9, 4));
  for (uint64_t i = 0; i < 40; i++) append_sample(records, sample_at(i * 1000), frames);
  lt_block block{};
  block.type = LT_BLOCK_SAMPLES;
  block.base_tick = 12345;
  Packer packer(1);
  const auto packed = packer.pack(block, records);
  ASSERT_FALSE(packed.empty());
  block.payload_size = static_cast<uint32_t>(packed.size());
  Unpacker unpacker;
  std::vector<uint64_t> out;
  const auto* bytes = reinterpret_cast<const uint8_t*>(packed.data());
  ASSERT_EQ(nullptr, unpacker.unpack(block, {bytes, packed.size()}, out));
  EXPECT_EQ(0, std::memcmp(records.data(), out.data(), records.size()));
}

// Without time to write them: counted, and no event words in their place.
TEST_F(SampleBlocksTest, DiscardedOnesAreCounted) {
  TraceWriter w(open_file(), path_, make_file_header());
  w.write_stream(1, lt_stream_info{});
  SampleBlocks blocks(w, 1);
  blocks.add(sample_at(100), {});
  blocks.flush();
  w.discard();
  blocks.add(sample_at(200), {});
  blocks.add(sample_at(300), {});
  blocks.flush();
  ASSERT_EQ(1u, w.discarded().size());
  EXPECT_EQ(3u, w.discarded().at(1).events);
  EXPECT_EQ(100u, w.discarded().at(1).since);
  EXPECT_EQ(300u, w.discarded().at(1).until);
  w.write_discarded();
  w.write_end({});
  ASSERT_TRUE(w.close());
  const mini::File file = mini::read(path_);
  EXPECT_EQ(2u, file.blocks.size());
  EXPECT_EQ(0u, file.blocks.back().as<lt_end_info>().events);
}

}  // namespace
}  // namespace luatrace
