// SPDX-License-Identifier: MIT
// Compressed payloads: the output equals the input; invalid ones are refused and cost nothing.
#include "trace/packing.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>
#include <string>

namespace luatrace {
namespace {

std::vector<uint64_t> typical_words(size_t n, uint64_t tick, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> words;
  while (words.size() < n) {
    tick += 20 + random() % 64;
    words.push_back(lt_word(tick, 1 + random() % 50, random() % 2 ? LT_ENTRY : LT_RETURN));
    if (random() % 100 == 0) words.push_back(random());  // A continuation word.
  }
  words.resize(n);
  return words;
}

lt_block events_block(uint64_t base) {
  lt_block b{};
  b.type = LT_BLOCK_EVENTS;
  b.base_tick = base;
  return b;
}

std::vector<uint8_t> bytes_of(std::span<const std::byte> from) {
  auto* p = reinterpret_cast<const uint8_t*>(from.data());
  return {p, p + from.size()};
}

std::vector<uint8_t> frame_of(const std::string& text) {
  std::vector<uint8_t> frame(ZSTD_compressBound(text.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 1));
  return frame;
}

std::string problem(lt_block block, const std::vector<uint8_t>& payload) {
  Unpacker unpacker;
  std::vector<uint64_t> out;
  const char* why = unpacker.unpack(block, payload, out);
  EXPECT_LE(out.size() * 8, LT_PACKED_MAX);
  return why ? why : "";
}

TEST(Packing, WordsComeBackWhateverTheirTime) {
  Packer packer(1);
  Unpacker unpacker;
  std::vector<uint64_t> back;
  for (uint64_t base : {uint64_t{0}, uint64_t{5000}, (uint64_t{1} << 40) - 100, UINT64_MAX - 7})
    for (size_t n : {32, 33, 1000, 8191, 8192}) {
      const auto words = typical_words(n, base, static_cast<uint32_t>(n));
      lt_block block = events_block(base);
      const auto packed = packer.pack(block, std::as_bytes(std::span(words)));
      ASSERT_FALSE(packed.empty());
      EXPECT_LT(packed.size(), words.size() * (n < 100 ? 8 : 4));
      EXPECT_EQ(block.raw_size, n * 8);
      EXPECT_EQ(block.flags, LT_BLOCK_F_ZSTD);
      ASSERT_EQ(unpacker.unpack(block, bytes_of(packed), back), nullptr);
      EXPECT_EQ(back, words);
    }
}

TEST(Packing, OtherPayloadsAreNotTakenForWords) {
  std::string text;
  for (int i = 0; i < 100; i++) text += "record number " + std::to_string(i) + ", ";
  lt_block block{};
  block.type = LT_BLOCK_FUNCS;
  block.base_tick = 77;
  Packer packer(3);
  const auto packed = bytes_of(packer.pack(block, std::as_bytes(std::span(text))));
  std::vector<uint64_t> back;
  ASSERT_EQ(Unpacker().unpack(block, packed, back), nullptr);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(back.data()), block.raw_size), text);
}

TEST(Packing, NotWhereItDoesNotHelp) {
  Packer packer(1);
  std::mt19937_64 random(1);
  std::vector<uint64_t> noise(1000);
  for (auto& word : noise) word = random();
  const std::vector<uint64_t> few(31, 1), many(8193, 1);
  for (const auto& words : {noise, few, many}) {
    lt_block block = events_block(0);
    EXPECT_TRUE(packer.pack(block, std::as_bytes(std::span(words))).empty()) << words.size();
    EXPECT_EQ(block.flags, 0);
    EXPECT_EQ(block.raw_size, 0u);
  }
}

TEST(Packing, SizesThatLieAreRefused) {
  const auto frame = frame_of(std::string(4096, 'x'));
  lt_block block{};
  block.type = LT_BLOCK_NOTE;
  block.raw_size = 4096;
  EXPECT_EQ(problem(block, frame), "");
  for (uint32_t size : {4095u, 4097u, 8u}) {
    block.raw_size = size;
    EXPECT_EQ(problem(block, frame), "its size differs from what the frame says") << size;
  }
  for (uint32_t size : {0u, 65537u, UINT32_MAX}) {
    block.raw_size = size;
    EXPECT_EQ(problem(block, frame), "invalid size") << size;
  }
  block.raw_size = 4096;
  block.payload_size = 65536;
  EXPECT_EQ(problem(block, frame), "");
  block.payload_size = 65537;
  EXPECT_EQ(problem(block, frame), "compressed, it is longer than a payload may be");
  block.payload_size = 0;
  block.type = LT_BLOCK_EVENTS;
  block.raw_size = 4092;
  EXPECT_EQ(problem(block, frame_of(std::string(4092, 'x'))), "its size is not a multiple of 8");
}

TEST(Packing, ABombIsRefusedBeforeItIsUnpacked) {
  const auto bomb = frame_of(std::string(64 << 20, '\0'));  // 64 MB of zeros in 2 KB.
  ASSERT_LT(bomb.size(), 8192u);
  lt_block block = events_block(0);
  block.raw_size = 64 << 20;
  EXPECT_EQ(problem(block, bomb), "invalid size");
  block.raw_size = 65536;
  EXPECT_EQ(problem(block, bomb), "its size differs from what the frame says");
}

// A frame that does not state its size, whatever it holds.
TEST(Packing, AFrameOfUnknownSizeIsRefused) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  const std::string text(4096, 'x');
  std::vector<uint8_t> frame(8192);
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  lt_block block{};
  block.raw_size = 4096;
  EXPECT_EQ(problem(block, frame), "its size differs from what the frame says");
}

TEST(Packing, ExactlyOneFrame) {
  const auto frame = frame_of(std::string(4096, 'x'));
  lt_block block{};
  block.raw_size = 4096;
  for (size_t size = 0; size < frame.size(); size++)
    EXPECT_EQ(problem(block, {frame.begin(), frame.begin() + static_cast<long>(size)}),
              "not one zstd frame")
        << size;
  auto more = frame;
  more.push_back(0);
  EXPECT_EQ(problem(block, more), "not one zstd frame");
  auto twice = frame;
  twice.insert(twice.end(), frame.begin(), frame.end());
  EXPECT_EQ(problem(block, twice), "not one zstd frame");
  const std::vector<uint8_t> skippable = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
  EXPECT_NE(problem(block, skippable), "");
}

TEST(Packing, DamagedFramesAreRefusedOrHarmless) {
  std::mt19937 random(7);
  const auto words = typical_words(2000, 9, 9);
  lt_block block = events_block(9);
  Packer packer(1);
  const auto good = bytes_of(packer.pack(block, std::as_bytes(std::span(words))));
  int refused = 0;
  for (int round = 0; round < 3000; round++) {
    auto bad = good;
    for (int i = 0; i <= round % 3; i++)
      bad[random() % bad.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    refused += !problem(block, bad).empty();
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace luatrace
