// SPDX-License-Identifier: MIT
// Samples: what stacks mean, what is refused in damaged and hostile files, and merging.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "analyzer/output/json.h"
#include "analyzer/pipeline.h"
#include "analyzer/read/image.h"
#include "analyzer/report/sample_counts.h"
#include "analyzer/report/saved_profile.h"
#include "cli/usage_error.h"
#include "support.h"
#include "trace/records.h"

namespace luatrace::analyze {
namespace {

constexpr const char* kHead =
    "#luatrace-text 1\n"
    "process 1 pid=7\n"
    "stream 1 process=1 flags=0x200\n"
    "func 1:1 lua line=10 chunk=\"@a.lua\" name=\"f1\"\n"
    "func 1:2 lua line=20 chunk=\"@a.lua\" name=\"f2\"\n";

std::string text_of(const std::string& samples) {
  return kHead + samples + "end exit=0\n";
}

// The report of several traces or profiles, in text or binary form.
Report report_of(const std::vector<std::string>& texts, PipelineOptions options = {}) {
  std::vector<FileBytes> files;
  for (const std::string& bytes : texts) files.push_back(file_bytes("trace", bytes));
  return analyze::report_of(files, std::move(options));
}

uint64_t self_of(const Report& report, const std::string& name) {
  for (const ReportFunction& f : report.functions)
    if (f.name == name) return f.self_ns;
  return 0;
}

// -- Stacks --

TEST(Samples, TimeGoesToTheInnermostFrame) {
  const Report r =
      report_of({text_of("sample 1 100 ns=10 tid=7 2:21 1:11\n"
                         "sample 1 200 ns=30 tid=7 1:12\n")});
  EXPECT_EQ(SampleKind::kCpu, r.sampled);
  EXPECT_EQ(10u, self_of(r, "f2"));
  EXPECT_EQ(30u, self_of(r, "f1"));
  EXPECT_EQ(40u, r.self_ns);
  EXPECT_EQ(40u, inclusive_ns(r.tree)[0]);
  EXPECT_EQ(100u, r.duration_ns);
  EXPECT_EQ(2u, shown_samples(r));
}

// Recursion and lines: one function, one sample.
TEST(Samples, RecursionCountsOnce) {
  const Report r = report_of({text_of("sample 1 1 ns=10 tid=7 1:12 1:11 1:11\n")});
  const ReportFunction& f =
      r.functions[r.find({.kind = FunctionKind::kLua, .chunk = "@a.lua", .line = 10, .name = ""})];
  EXPECT_EQ(1u, f.samples);
  EXPECT_EQ(10u, f.inclusive_ns);
  EXPECT_EQ(10u, f.self_ns);
}

// Without frames, or with the callers missing.
TEST(Samples, WhatIsMissingIsUnknown) {
  const Report r =
      report_of({text_of("sample 1 1 ns=5 tid=7\n"
                         "sample 1 2 ns=7 tid=7 cut=1 2\n"
                         "sample 1 3 ns=9 tid=7 ? ? 1\n"
                         "sample 1 4 ns=3 tid=7 99 1\n")});
  EXPECT_EQ(5u, r.gap_ns);
  EXPECT_EQ(7u, self_of(r, "f2"));
  EXPECT_EQ(9u, self_of(r, "[unknown]"));
  EXPECT_EQ(3u, self_of(r, "function #99"));
  EXPECT_EQ(1u, r.samples.truncated);
  EXPECT_EQ(2u, r.samples.unknown_frames);
  EXPECT_EQ(1u, r.trust.undescribed);
  EXPECT_EQ(24u, r.traced_ns);
}

TEST(Samples, AddressesAreMergedBySymbol) {
  // No file: all addresses of the mapping are one function; those of none are unknown.
  const std::string map = "map 1 0x1000 0x3000 0 - \"/nowhere/libx.so\"\n";
  const Report r =
      report_of({text_of("sample 1 1 ns=5 tid=7 n0x1234 1\n"
                         "sample 1 2 ns=7 tid=7 n0x2345 r0x3000 1\n"  // The call is before 0x3000.
                         "sample 1 3 ns=9 tid=7 n0x3000 1\n" +
                         map)});
  EXPECT_EQ(12u, self_of(r, "[libx.so]"));
  EXPECT_EQ(9u, self_of(r, "[unknown]"));
  EXPECT_EQ(1u, r.samples.unknown_frames);
}

TEST(Samples, CoroutinesAreBelowTheirResumers) {
  const std::string text = text_of("sample 1 1 ns=5 tid=7 co=3 vm=0x10 2 co3 1\n");
  const Report linked = report_of({text});
  ASSERT_EQ(3u, linked.tree.size());
  EXPECT_EQ(NodeId{1}, linked.tree[NodeId{2}].parent);
  PipelineOptions options;
  options.filter.mode = CoroutineMode::kSeparate;
  const Report separate = report_of({text}, options);
  EXPECT_EQ(1u, separate.functions[separate.tree[NodeId{1}].function].coroutine ||
                    separate.functions[separate.tree[NodeId{2}].function].coroutine);
  EXPECT_EQ(5u, separate.self_ns);
}

TEST(Samples, WaitsAreApart) {
  const std::string text = text_of(
      "sample 1 1 ns=5 tid=7 1\n"
      "sample 1 2 ns=1000 tid=7 off=1 2 1\n");
  EXPECT_EQ(5u, report_of({text}).self_ns);
  PipelineOptions options;
  options.off_cpu = true;
  const Report waits = report_of({text}, options);
  EXPECT_EQ(1000u, waits.self_ns);
  EXPECT_EQ(SampleKind::kOffCpu, waits.sampled);
  EXPECT_EQ(5u, waits.samples.others_ns);
  EXPECT_THROW(report_of({text, saved(waits)}), UsageError);
}

// A file that has only waits shows them; they are refused beside CPU time.
TEST(Samples, WaitsAreShownIfThereIsNothingElse) {
  const std::string waits = text_of("sample 1 2 ns=1000 tid=7 off=1 2 1\n");
  const std::string cpu = text_of("sample 1 1 ns=5 tid=7 1\n");
  const Report r = report_of({waits});
  EXPECT_EQ(1000u, r.self_ns);
  EXPECT_EQ(SampleKind::kOffCpu, r.sampled);
  EXPECT_EQ(2u, report_of({waits, waits}).samples.samples);
  EXPECT_THROW(report_of({cpu, waits}), UsageError);
  EXPECT_THROW(report_of({waits, cpu}), UsageError);
}

// -- Damaged and hostile files --

std::string binary(const lt_sample& sample, std::span<const uint64_t> frames, uint32_t count = 1,
                   uint32_t stream = 1) {
  lt_file_header header{};
  header.clock = LT_CLOCK_MONOTONIC;
  header.tick_mult = 1;
  TraceImage image(header);
  lt_block block{};
  block.type = LT_BLOCK_STREAM;
  block.stream = 1;
  lt_stream_info info{};
  info.flags = LTF_SAMPLED;
  image.add(block, std::as_bytes(std::span(&info, 1)));
  std::vector<std::byte> records;
  append_sample(records, sample, frames);
  std::memcpy(records.data(), &sample, offsetof(lt_sample, tick));
  block.type = LT_BLOCK_SAMPLES;
  block.stream = stream;
  block.count = count;
  image.add(block, records);
  block = {};
  block.type = LT_BLOCK_END;
  const lt_end_info end{};
  image.add(block, std::as_bytes(std::span(&end, 1)));
  const std::vector<uint8_t> bytes = image.take();
  return {bytes.begin(), bytes.end()};
}

TEST(Samples, MalformedRecordsAreCounted) {
  const uint64_t frames[] = {function_frame(1), function_frame(2)};
  lt_sample good{};
  good.size = sizeof good + sizeof frames;
  good.nframes = 2;
  good.weight_ns = 1;
  EXPECT_EQ(0u, report_of({binary(good, frames)}).trust.bad_records);
  EXPECT_EQ(1u, report_of({binary(good, frames)}).samples.samples);
  EXPECT_EQ(1u, report_of({binary(good, frames, 2)}).trust.bad_records);
  EXPECT_EQ(1u, report_of({binary(good, frames, 1, 0)}).trust.bad_records);
  for (const uint32_t size : {0u, 8u, 47u, 65u, 72u, 4096u, UINT32_MAX & ~7u}) {
    lt_sample bad = good;
    bad.size = size;
    EXPECT_EQ(1u, report_of({binary(bad, frames)}).trust.bad_records) << size;
  }
  for (const uint16_t n : {uint16_t{3}, uint16_t{1025}, uint16_t{UINT16_MAX}}) {
    lt_sample bad = good;
    bad.nframes = n;
    EXPECT_EQ(1u, report_of({binary(bad, frames)}).trust.bad_records) << n;
  }
  lt_sample bad = good;
  bad.tid = -1;
  EXPECT_EQ(1u, report_of({binary(bad, frames)}).trust.bad_records);
  bad = good;
  bad.flags = LTS_CODE;  // Without space for the place.
  EXPECT_EQ(1u, report_of({binary(bad, frames)}).trust.bad_records);
}

TEST(Samples, StrangeFramesAndWeightsAreUnknown) {
  lt_sample s{};
  std::vector<uint64_t> frames;
  for (uint64_t kind = LT_FRAME_LABEL + 1; kind < 16; kind++)
    frames.push_back(~uint64_t{15} | kind);
  s.nframes = static_cast<uint16_t>(frames.size());
  s.size = static_cast<uint32_t>(sizeof s + 8 * frames.size());
  s.weight_ns = UINT64_MAX;
  const Report r = report_of({binary(s, frames)});
  EXPECT_EQ(15u - LT_FRAME_LABEL, r.samples.unknown_frames);
  EXPECT_EQ(1u, r.trust.clock_anomalies);
  EXPECT_EQ(0u, r.self_ns);
}

TEST(Samples, OrderAndLossAreCounted) {
  const Report old =
      report_of({text_of("sample 1 5000000000 ns=1 tid=7 1\n"
                         "sample 1 4500000000 ns=1 tid=7 1\n"  // Threads differ by up to a second.
                         "sample 1 3000000000 ns=1 tid=7 1\n")});
  EXPECT_EQ(1u, old.trust.clock_anomalies);
  EXPECT_EQ(3u, old.samples.samples);
  const Report lost = report_of({std::string(kHead) + "sample 1 1 ns=1 tid=7 1\nend lost=12\n"});
  EXPECT_EQ(12u, lost.trust.lost);
}

// Each kind of block in a trace of the other kind is damage, and does not disturb.
TEST(Samples, KindsAreNotMixed) {
  const Report events =
      report_of({trace_text("10 entry 1\n20 return 1\nsample 1 30 ns=7 tid=1 1\n")});
  EXPECT_FALSE(events.is_sampled());
  EXPECT_EQ(10u, events.self_ns);
  EXPECT_EQ(1u, events.trust.bad_records);
  const Report samples = report_of({text_of("sample 1 30 ns=7 tid=1 1\n40 1 entry 1\n")});
  EXPECT_EQ(7u, samples.self_ns);
  EXPECT_EQ(1u, samples.trust.bad_records);
  EXPECT_THROW(report_of({trace_text("10 entry 1\n"), text_of("sample 1 30 ns=7 tid=1 1\n")}),
               UsageError);
}

// -- Merging --

std::string random_samples(uint64_t seed, size_t n) {
  std::mt19937_64 random(seed);
  std::string text;
  for (size_t i = 0; i < n; i++) {
    text +=
        "sample 1 " + std::to_string(1000 * i) + " ns=" + std::to_string(random() % 100) + " tid=7";
    if (random() % 8 == 0) text += " cut=1";
    for (size_t depth = random() % 6; depth > 0; depth--)
      text += random() % 10 == 0 ? " ?" : " " + std::to_string(1 + random() % 2);
    text += '\n';
  }
  return text;
}

std::string functions_of(const Report& r) {
  std::ostringstream out;
  write_json(out, r);
  const std::string json = out.str();
  const size_t begin = json.find("\"functions\"");
  return json.substr(begin, json.find("\"trust\"") - begin);
}

TEST(Samples, MergedProfilesAreAsIfSampledTogether) {
  for (uint64_t seed = 1; seed <= 30; seed++) {
    const std::string a = random_samples(seed, 40), b = random_samples(seed + 100, 30);
    const Report ra = report_of({text_of(a)}), rb = report_of({text_of(b)});
    const std::string merged = saved(report_of({saved(ra), saved(rb)}));
    EXPECT_EQ(merged, saved(report_of({saved(rb), saved(ra)}))) << seed;
    EXPECT_EQ(merged, saved(report_of({text_of(a), saved(rb)}))) << seed;
    EXPECT_EQ(functions_of(report_of({merged})), functions_of(report_of({text_of(a + b)}))) << seed;
    const Report all = report_of({merged});
    EXPECT_EQ(70u, all.samples.samples);
    EXPECT_EQ(70u, shown_samples(all));
  }
}

// Programs of before would take samples for calls.
TEST(Samples, ProfilesHaveAVersionOfTheirOwn) {
  EXPECT_EQ(kSampledVersion, saved(report_of({text_of("sample 1 1 ns=1 tid=7 1\n")}))[8]);
  EXPECT_EQ(kProfileVersion, saved(report_of({trace_text("1 entry 1\n")}))[8]);
}

// -- Errors --

TEST(Samples, ErrorsOfShares) {
  EXPECT_NEAR(9.6, share_error(50, 100), 0.2);
  EXPECT_NEAR(0.98, share_error(5000, 10000), 0.01);
  EXPECT_GT(share_error(0, 100), 0);
  EXPECT_LT(share_error(0, 10000), share_error(0, 100));
}

}  // namespace
}  // namespace luatrace::analyze
