// SPDX-License-Identifier: MIT
// Damaged traces: whatever happens to the bytes, the analyzer ends, says what is wrong, and uses
// what is left. Meant to run under AddressSanitizer too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "analyzer/read/image.h"
#include "analyzer/read/text_reader.h"
#include "model.h"
#include "parts.h"
#include "support.h"
#include "trace/crc32c.h"

namespace luatrace::analyze {
namespace {

const char* const kEvents = R"(
    map 1 0x1000 0x2000 0x0 00ff "/usr/lib/libx.so"
    note recorder=test
    block 1 seq=0 base=0 co=1
    0 start
    0 ringblock co=1 tid=7 rec=1
    0 entry 1
    10 create 2
    10 resume 2
    10 entry 3000000
    20 suspend yield
    block 1 seq=1 base=20 co=1
    30 resume 2
    40 unwind 1 top=-
    40 suspend done
    50 return 1
    60 stop close
    sync 60 mono=60 real=60)";

std::vector<uint8_t> good() {
  return to_binary(trace_text(kEvents));
}

void expect_sums(const Analysed& a, const std::string& what) {
  EXPECT_EQ(a.report.self_ns + a.report.idle_ns + a.report.gap_ns, a.report.traced_ns) << what;
}

TEST(BadInput, TheWholeTraceIsGood) {
  auto a = analyse(good());
  EXPECT_EQ(a.trust().anomalies(), 1u);  // Function 3000000 has no description.
  EXPECT_EQ(a.trust().undescribed, 1u);
  EXPECT_EQ(a.trust().events, 12u);
}

TEST(BadInput, TruncatedAtEveryByte) {
  auto bytes = good();
  uint64_t events = 0;
  for (size_t size = 0; size < bytes.size(); size++) {
    std::vector<uint8_t> part(bytes.begin(), bytes.begin() + static_cast<long>(size));
    auto a = analyse(part);
    std::string what = "cut at " + std::to_string(size);
    if (size < sizeof(lt_file_header)) {
      EXPECT_TRUE(a.unreadable) << what;
      EXPECT_NE(a.reason.find("test.bin"), std::string::npos) << what;
      continue;
    }
    ASSERT_FALSE(a.unreadable) << what << ' ' << a.reason;
    // Only the zero bytes after the last payload can be missing unnoticed.
    if (size + 8 < bytes.size()) {
      EXPECT_EQ(a.trust().cut, 1u) << what;
      EXPECT_FALSE(a.messages.empty()) << what;
    }
    EXPECT_GE(a.trust().events, events) << what << ": a longer file has fewer events";
    events = a.trust().events;
    expect_sums(a, what);
  }
  EXPECT_EQ(events, 12u);
}

// The events before the cut are shown as if nothing had been cut.
TEST(BadInput, ACutChangesOnlyWhatIsAfterIt) {
  for (uint64_t seed = 1; seed <= 12; seed++) {
    const auto bytes = to_binary(trace_text(model::to_text(model::generate(seed, 10 * seed))));
    const std::string whole = dump(bytes);
    std::string before;
    for (size_t size = sizeof(lt_file_header); size <= bytes.size(); size++) {
      std::string part = dump({bytes.begin(), bytes.begin() + static_cast<long>(size)});
      part.resize(std::min(part.size(), part.find("# malformed")));  // The record that was cut.
      ASSERT_TRUE(whole.starts_with(part)) << "seed " << seed << ", cut at " << size;
      ASSERT_TRUE(part.starts_with(before)) << "seed " << seed << ", cut at " << size;
      before = part;
    }
    EXPECT_EQ(before, whole) << "seed " << seed;
  }
}

TEST(BadInput, EveryBitFlipped) {
  auto bytes = good();
  for (size_t bit = 0; bit < bytes.size() * 8; bit++) {
    auto copy = bytes;
    copy[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    auto a = analyse(copy);
    std::string what = "bit " + std::to_string(bit);
    if (a.unreadable) {
      EXPECT_LT(bit / 8, 16u) << what << ": only magic and version may refuse the file";
      continue;
    }
    bool rate = bit / 8 >= 36 && bit / 8 < 48;  // Another rate of the clock: sums are rounded.
    if (!rate) expect_sums(a, what);
    EXPECT_LE(a.trust().events, 12u) << what;
    // Only the zero bytes between blocks are without a checksum.
    if (a.trust().anomalies() == 1)
      EXPECT_EQ(bytes[bit / 8], 0) << what;
    else
      EXPECT_FALSE(a.messages.empty()) << what;
  }
}

TEST(BadInput, GarbageBetweenBlocksIsSkipped) {
  auto bytes = good();
  std::mt19937 random(1);
  for (size_t garbage : {1u, 7u, 8u, 64u, 5000u}) {
    auto copy = bytes;
    std::vector<uint8_t> noise(garbage);
    for (auto& b : noise) b = static_cast<uint8_t>(random());
    copy.insert(copy.begin() + sizeof(lt_file_header), noise.begin(), noise.end());
    auto a = analyse(copy);
    EXPECT_EQ(a.trust().bad_blocks, 1u) << garbage;
    EXPECT_EQ(a.trust().events, 12u) << garbage;
    EXPECT_EQ(a.function("f1").calls, 1u) << garbage;
  }
}

TEST(BadInput, RandomBytesAfterAGoodHeader) {
  for (uint32_t seed = 0; seed < 300; seed++) {
    std::mt19937 random(seed);
    auto bytes = good();
    for (int i = 0; i < 40; i++)
      bytes[128 + random() % (bytes.size() - 128)] = static_cast<uint8_t>(random());
    expect_sums(analyse(bytes), "seed " + std::to_string(seed));
  }
}

// The checksums are right, what they cover is not: only the parsers can notice.
TEST(BadInput, HostileRecordsWithGoodChecksums) {
  for (uint32_t seed = 0; seed < 2000; seed++) {
    std::mt19937_64 random(seed);
    lt_file_header header{};
    header.clock = LT_CLOCK_TSC;
    header.tick_mult = random() % 3 ? 1 : random();
    header.tick_shift = static_cast<uint32_t>(random() % 70);
    TraceImage image(header);
    for (int n = 0; n < 12; n++) {
      lt_block block{};
      block.type = static_cast<uint16_t>(random() % 10);
      block.stream = static_cast<uint32_t>(random() % 3);
      block.count = static_cast<uint32_t>(random() % 20);
      block.seq = static_cast<uint32_t>(random() % 4);
      block.base_tick = random() >> random() % 64;
      block.end_tick = random() % 2 ? UINT64_MAX : random();
      block.coroutine = static_cast<uint32_t>(random() % 4);
      std::vector<uint64_t> words(random() % 40);
      for (auto& w : words) {
        w = random() >> random() % 64;
        if (random() % 2) w = lt_word(random() % 1000, random() % 5, 1 + random() % 7);
        if (random() % 4 == 0)
          w = lt_word(random() % 1000, lt_ext(random() % 17, random() % 4, random() % 5), LT_EXT);
      }
      image.add(block, std::as_bytes(std::span(words)));
    }
    const std::vector<uint8_t> bytes = image.take();
    EXPECT_FALSE(analyse(bytes).unreadable);
    dump(bytes);
  }
}

// Nothing in a block is later than its end, not even balanced calls: the clock stands still there.
TEST(BadInput, NoCallIsLaterThanTheEndOfItsBlock) {
  Parts parts = parts_of(to_binary(
      trace_text("0 start\n0 entry 1\n10 entry 2\n20 return 2\n30 return 1\n30 stop close")));
  for (auto& [block, payload] : parts.blocks)
    if (block.type == LT_BLOCK_EVENTS) block.end_tick = 15;
  const auto a = analyse(join(parts));
  EXPECT_EQ(a.trust().clock_anomalies, 3u);
  EXPECT_EQ(a.report.traced_ns, 10u);
  EXPECT_EQ(a.function("f1").self_ns, 10u);
  EXPECT_EQ(a.function("f2").self_ns, 0u);
}

// Nor is a loss: a block that ends at 15 by its header has no gap until 50, and the events of the
// next block are not too late because of it.
TEST(BadInput, NoLossIsLaterThanTheEndOfItsBlock) {
  Parts parts = parts_of(to_binary(trace_text(R"(
    block 1 seq=0 base=0
    0 start
    0 entry 1
    50 loss 3 since=10
    block 1 seq=1 base=20
    20 stack 0 loss n=1
    20 frame 2
    40 return 2
    60 stop close)")));
  for (auto& [block, payload] : parts.blocks)
    if (block.type == LT_BLOCK_EVENTS && block.seq == 0) block.end_tick = 15;
  const auto a = analyse(join(parts));
  EXPECT_EQ(a.trust().clock_anomalies, 1u);
  EXPECT_EQ(a.trust().lost, 3u);
  EXPECT_EQ(a.function("f1").self_ns, 10u);
  EXPECT_EQ(a.function("f2").self_ns, 20u);
  EXPECT_EQ(a.report.gap_ns, 10u);  // Until the stack is reported.
  EXPECT_EQ(a.report.traced_ns, 60u);
}

// A loss that began later than its block ends, or before all that was seen.
TEST(BadInput, ALossBeginsWithinItsBlock) {
  for (const char* since : {"500", "0", "18446744073709551615"}) {
    Parts parts = parts_of(to_binary(
        trace_text("0 start\n0 entry 1\n10 thread 1\n50 loss 3 since=" + std::string(since))));
    for (auto& [block, payload] : parts.blocks)
      if (block.type == LT_BLOCK_EVENTS) block.end_tick = 15;
    const auto a = analyse(join(parts));
    EXPECT_EQ(a.trust().clock_anomalies, 1u) << since;
    EXPECT_EQ(a.report.traced_ns, 15u) << since;
  }
}

TEST(BadInput, RefusedWithAReason) {
  auto refused = [](std::vector<uint8_t> bytes, const std::string& reason) {
    auto a = analyse(bytes);
    EXPECT_TRUE(a.unreadable) << reason;
    EXPECT_NE(a.reason.find(reason), std::string::npos) << a.reason;
  };
  auto reseal = [](std::vector<uint8_t> bytes) {
    uint32_t crc = crc32c(bytes.data(), 124);
    memcpy(&bytes[124], &crc, 4);
    return bytes;
  };
  refused({}, "empty");
  refused({'h', 'e', 'l', 'l', 'o', ' ', 'y', 'o', 'u'}, "not a luatrace trace");
  refused({'L', 'U', 'A'}, "cut inside the file header");
  auto swapped = good();
  std::reverse(swapped.begin(), swapped.begin() + 8);
  refused(swapped, "in the other byte order");
  auto newer = good();
  newer[8] = 2;
  refused(reseal(newer), "version 2");
  auto feature = good();
  feature[16] = 4;
  refused(reseal(feature), "bits 4");
  auto optional = good();
  optional[24] = 1;  // May be ignored.
  EXPECT_FALSE(analyse(reseal(optional)).unreadable);
}

TEST(BadInput, MalformedTextNamesTheLine) {
  auto a = analyse("#luatrace-text 1\nclock tsc\n10 1 entry x\n");
  EXPECT_TRUE(a.unreadable);
  EXPECT_NE(a.reason.find("line 3"), std::string::npos) << a.reason;
  EXPECT_TRUE(analyse("#luatrace-text 1\nfunc 1:1 lua chunk=\"@x\n").unreadable);
  EXPECT_TRUE(analyse("#luatrace-text 1\nfrobnicate\n").unreadable);
  EXPECT_FALSE(analyse("#luatrace-text 1\nmap 1 0x1000 0x2000 0 abcd \"/x\"\n").unreadable);
  EXPECT_TRUE(analyse("#luatrace-text 1\nmap 1 0x1000 0x2000 0 abc \"/x\"\n").unreadable);
}

TEST(BadInput, MissingBlockIsAGap) {
  auto a =
      analyse(trace_text("block 1 seq=0 base=0\n0 start\n0 entry 1\n5 entry 2\n"
                         "block 1 seq=3 base=100 co=1\n110 return 1\n120 stop close"));
  EXPECT_EQ(a.trust().missing_blocks, 1u);
  EXPECT_EQ(a.trust().open_gap, 2u);
  EXPECT_EQ(a.trust().inferred, 1u);
  expect_sums(a, "");
}

}  // namespace
}  // namespace luatrace::analyze
