// SPDX-License-Identifier: MIT
// After a missing block a reader learns from the headers of the blocks that EventBlocks writes what
// runs. Whatever block is missing, each moment counts for the call that really ran, as idle if none
// did, or as unknown; the only anomaly is the missing block.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <span>

#include "model.h"
#include "parts.h"
#include "support.h"
#include "trace/spool.h"
#include "trace/trace_writer.h"

namespace luatrace::analyze {
namespace {

// Writes the words of a block again as a recorder would have, in blocks of a few records each.
void write_words(TraceWriter& writer, std::span<const std::byte> payload, std::mt19937_64& random) {
  std::vector<uint64_t> words(payload.size() / 8);
  std::memcpy(words.data(), payload.data(), payload.size());
  EventBlocks blocks(writer, 1, 1000);
  for (size_t at = 0; at < words.size();) {
    const size_t n = record_words(words[at]);
    blocks.append(std::span(words).subspan(at, n));
    at += n;
    if (random() % 12 == 0) blocks.flush();
  }
  blocks.flush();
}

std::vector<uint8_t> in_small_blocks(const std::string& text, uint64_t seed) {
  std::mt19937_64 random(seed);
  Spool spool;
  TraceWriter writer(spool, "test", make_file_header());
  const Parts parts = parts_of(to_binary(text));
  for (const auto& [head, payload] : parts.blocks) {
    const auto bytes = std::as_bytes(std::span(payload));
    if (head.type == LT_BLOCK_STREAM) {
      lt_stream_info info;
      std::memcpy(&info, payload.data(), sizeof info);
      writer.write_stream(1, info);
    } else if (head.type == LT_BLOCK_EVENTS) {
      write_words(writer, bytes, random);
    } else {
      writer.write_block(head, bytes);
    }
  }
  EXPECT_TRUE(writer.close());
  return spool.take_memory();
}

// The trace without the n-th block of events; empty if no block of events follows it.
std::vector<uint8_t> without(const std::vector<uint8_t>& trace, size_t n) {
  size_t at = sizeof(lt_file_header), begin = 0, end = 0, events = 0;
  const Parts parts = parts_of(trace);
  for (const auto& [head, payload] : parts.blocks) {
    const size_t size = sizeof head + (payload.size() + 7) / 8 * 8;
    if (head.type == LT_BLOCK_EVENTS && events++ == n) begin = at, end = at + size;
    at += size;
  }
  if (end == 0 || events <= n + 1) return {};
  auto out = trace;
  out.erase(out.begin() + static_cast<ptrdiff_t>(begin), out.begin() + static_cast<ptrdiff_t>(end));
  return out;
}

std::map<std::string, uint64_t> self_times(const Analysed& a) {
  std::map<std::string, uint64_t> out;
  for (const ReportFunction& f : a.report.functions) out[f.name] += f.self_ns;
  return out;
}

void expect_less(const Analysed& whole, const Analysed& part) {
  const Trust& t = part.trust();
  EXPECT_EQ(t.missing_blocks, 1u);
  EXPECT_EQ(t.anomalies(), 1u + t.lost);
  EXPECT_EQ(part.report.traced_ns, part.report.self_ns + part.report.idle_ns + part.report.gap_ns);
  auto all = self_times(whole);
  for (const auto& [name, ns] : self_times(part)) EXPECT_LE(ns, all[name]) << name;
  EXPECT_LE(part.report.idle_ns, whole.report.idle_ns);
}

// Without C functions that call into a coroutine which resumed their own: after a gap the resumer
// may be unknown, and the machine takes that coroutine for another one (docs/security.md).
TEST(Resync, WhateverBlockIsMissing) {
  uint64_t gaps = 0, recovered = 0;
  for (uint64_t seed = 1; seed <= 250; seed++) {
    const auto text = model::to_text(model::generate(seed, 20 + seed % 200, false));
    const auto trace = in_small_blocks(trace_text(text), seed);
    const Analysed whole = analyse(trace);
    ASSERT_EQ(whole.trust().anomalies(), whole.trust().lost) << "seed " << seed;
    for (size_t n = 0;; n++) {
      const auto part = without(trace, n);
      if (part.empty()) break;
      const Analysed a = analyse(part);
      expect_less(whole, a);
      if (HasFailure()) FAIL() << "seed " << seed << ", without block " << n << "\n" << text;
      gaps++;
      recovered += a.report.self_ns > whole.report.self_ns / 2;
    }
  }
  EXPECT_GT(gaps, 1000u);
  EXPECT_GT(recovered, gaps / 2);  // Not all that follows a gap is unknown.
}

}  // namespace
}  // namespace luatrace::analyze
