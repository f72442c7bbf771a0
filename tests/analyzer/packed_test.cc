// SPDX-License-Identifier: MIT
// Traces with compressed blocks: the same report, and what happens to bad ones.
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/output/json.h"
#include "parts.h"
#include "support.h"

namespace luatrace::analyze {
namespace {

// A trace of many blocks with plenty of events.
std::string long_trace(int blocks) {
  std::ostringstream out;
  uint64_t tick = 1000;
  for (int b = 0; b < blocks; b++) {
    out << "block 1 seq=" << b << " base=" << tick << '\n';
    if (b == 0) out << tick << " start\n";
    for (int i = 0; i < 200; i++) {
      out << (tick += 7) << " entry " << 1 + i % 9 << '\n';
      out << (tick += 20 + i % 13) << " return " << 1 + i % 9 << '\n';
    }
  }
  out << tick << " stop close\n";
  return trace_text(out.str());
}

// The same frame with `count` empty blocks of zstd (3 bytes each) before its own.
std::vector<uint8_t> padded_frame(std::vector<uint8_t> frame, size_t count) {
  const uint8_t descriptor = frame[4];  // After the magic number; the frame has no dictionary.
  const bool single = descriptor & 0x20;
  const size_t size_of_size[] = {single ? 1u : 0u, 2, 4, 8};
  const size_t header = 5 + !single + size_of_size[descriptor >> 6];
  frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(header), 3 * count, 0);
  return frame;
}

std::string functions_of(const Analysed& a) {
  std::ostringstream out;
  write_json(out, a.report);
  std::string text = out.str();
  return text.substr(text.find("\"functions\""));
}

TEST(Packed, GivesTheSameReport) {
  for (int blocks : {1, 31, 32, 33, 200}) {
    const std::string text = long_trace(blocks);
    const auto bytes = join(packed_parts(text));
    EXPECT_LT(bytes.size(), to_binary(text).size());
    const auto a = analyse(bytes);
    EXPECT_EQ(a.trust().anomalies(), 0u);
    EXPECT_EQ(functions_of(a), functions_of(analyse(text)));
    EXPECT_EQ(dump(bytes).substr(dump(bytes).find('\n', 30)),
              dump(to_binary(text)).substr(dump(to_binary(text)).find('\n', 30)));
  }
}

TEST(Packed, ABadBlockIsSkippedCountedAndReported) {
  Parts parts = packed_parts(long_trace(50));
  int bad = 0;
  for (auto& [b, payload] : parts.blocks)
    if (b.type == LT_BLOCK_EVENTS && b.seq % 10 == 5) {
      bad++;
      payload.resize(payload.size() / 2);
    }
  ASSERT_EQ(bad, 5);
  const auto a = analyse(join(parts));
  EXPECT_EQ(a.trust().bad_blocks, 5u);
  EXPECT_EQ(a.trust().missing_blocks, 5u);
  EXPECT_EQ(a.trust().bad_block_events, 5u * 400);
  EXPECT_EQ(a.trust().events, 45u * 400 + 2);
  ASSERT_FALSE(a.messages.empty());
  EXPECT_NE(a.messages[0].find("payload cannot be decompressed (not one zstd frame)"),
            std::string::npos);
}

TEST(Packed, ABombCostsNothing) {
  Parts parts = packed_parts(long_trace(3));
  for (auto& [b, payload] : parts.blocks)
    if (b.type == LT_BLOCK_EVENTS && b.seq == 1) b.raw_size = 0xfffffff8u;
  const auto a = analyse(join(parts));
  EXPECT_EQ(a.trust().bad_blocks, 1u);
  EXPECT_EQ(a.trust().events, 2u * 400 + 2);
}

// A valid frame may consist almost only of empty blocks; up to 32 payloads are copied before they
// are unpacked.
TEST(Packed, ALongFrameIsRefused) {
  Parts parts = packed_parts(long_trace(3));
  for (auto& [b, payload] : parts.blocks)
    if (b.type == LT_BLOCK_EVENTS && b.seq == 1) payload = padded_frame(payload, 100'000);
  const auto a = analyse(join(parts));
  EXPECT_EQ(a.trust().bad_blocks, 1u);
  EXPECT_EQ(a.trust().events, 2u * 400 + 2);
  ASSERT_FALSE(a.messages.empty());
  EXPECT_NE(a.messages[0].find("it is longer than a payload may be"), std::string::npos);
}

TEST(Packed, TheFileIsCutAtAnyByte) {
  const auto bytes = join(packed_parts(long_trace(4)));
  uint64_t events = 0;
  for (size_t size = sizeof(lt_file_header); size < bytes.size(); size++) {
    const auto a =
        analyse(std::vector<uint8_t>(bytes.begin(), bytes.begin() + static_cast<long>(size)));
    EXPECT_EQ(a.trust().cut, 1u) << size;
    EXPECT_GE(a.trust().events, events) << size;
    events = a.trust().events;
  }
  EXPECT_EQ(events, 4u * 400 + 2);
}

}  // namespace
}  // namespace luatrace::analyze
