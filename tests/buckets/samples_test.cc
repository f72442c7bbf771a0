// SPDX-License-Identifier: MIT
// Time buckets of samples: they sum to the profile that there is without them, to the byte,
// whatever is filtered; a bucket has what --time-range finds in the trace; merging, and making
// buckets longer, gives the same in any order; what is forged or too much is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "analyzer/collect/sample_buckets.h"
#include "analyzer/output/folded.h"
#include "analyzer/pipeline.h"
#include "analyzer/report/saved_profile.h"
#include "bucket_options.h"
#include "cli/usage_error.h"
#include "support.h"
#include "trace/crc32c.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

using File = FileBytes;
constexpr auto file = file_bytes;

// A tick is 1.5 ns: weights are in ns all the same. `off`: all are of waits.
std::string head(const std::string& clock) {
  std::string text = "#luatrace-text 1\nclock monotonic " + clock +
                     "\nprocess 1 pid=7\nprocess 2 pid=8\n"
                     "stream 1 process=1 flags=0x200\nstream 2 process=2 flags=0x200\n"
                     "map 1 0x1000 0x3000 0 - \"/nowhere/libx.so\"\n";
  for (const std::string f : {"1", "2", "3", "4"})
    for (const std::string stream : {"1:", "2:"})
      text += "func " + stream + f + " lua line=" + f + "0 chunk=\"@a.lua\" name=\"f" + f + "\"\n";
  return text;
}

const std::string kClock = "mult=3 shift=1 start=1000 real=" + std::to_string(kStart);

// Of a quarter of an hour. Threads take their samples in an order of their own; some are of waits.
std::string random_samples(uint64_t seed, const std::string& always = "") {
  std::mt19937_64 random(seed);
  const auto one_of = [&](uint64_t n) { return random() % n == 0; };
  static const char* const kStates[] = {"native", "interpreter", "compiled", "c", "collector"};
  std::string text = head(kClock);
  uint64_t ms = 0;
  for (size_t i = 0; i < 300; i++) {
    ms += random() % 6000;
    const uint64_t tick = 1000 + (ms * 1000000 + random() % 500000000) * 2 / 3;
    text += "sample " + std::to_string(1 + random() % 2) + ' ' + std::to_string(tick) +
            " ns=" + std::to_string(random() % 20000000) +
            " tid=" + std::to_string(7 + random() % 3) + " state=" + kStates[random() % 5] + always;
    if (one_of(3)) text += " co=" + std::to_string(1 + random() % 3) + " vm=0x10";
    if (one_of(8)) text += " cut=1";
    if (always.empty() && i && one_of(9)) text += " off=1";
    for (size_t depth = random() % 7; depth > 0; depth--)
      text += one_of(10)  ? " ?"
              : one_of(9) ? " n0x1234"
              : one_of(9) ? " co2"
                          : ' ' + std::to_string(1 + random() % 4);
    text += '\n';
  }
  return text + "end exit=0\n";
}

File random_file(uint64_t seed) {
  return file("t" + std::to_string(seed), random_samples(seed));
}

// What samples can be filtered and regrouped by.
using Choose = std::function<void(PipelineOptions&)>;
const std::vector<std::pair<const char*, Choose>> kChoices = {
    {"all", [](auto&) {}},
    {"-F", [](auto& o) { o.filter.only = {"f2"}; }},
    {"-N", [](auto& o) { o.filter.without = {"f2"}; }},
    {"-C", [](auto& o) { o.filter.callers = {"f3"}; }},
    {"-H", [](auto& o) { o.filter.hide = {"f1"}; }},
    {"-D", [](auto& o) { o.filter.depth = 2; }},
    {"--kind", [](auto& o) { o.filter.kinds = {FunctionKind::kC}; }},
    {"--thread", [](auto& o) { o.filter.threads = {ThreadId(8)}; }},
    {"--coroutines", [](auto& o) { o.filter.mode = CoroutineMode::kSeparate; }},
    {"--off-cpu", [](auto& o) { o.off_cpu = true; }},
    {"--max-nodes", [](auto& o) { o.max_nodes = 20; }},
    {"--group-by thread", [](auto& o) { o.filter.group = GroupBy::kThread; }},
    {"--group-by process", [](auto& o) { o.filter.group = GroupBy::kProcess; }},
    {"--group-by vm", [](auto& o) { o.filter.group = GroupBy::kVm; }},
    {"--group-by coroutine", [](auto& o) { o.filter.group = GroupBy::kCoroutine; }},
    {"--group-by file", [](auto& o) { o.filter.group = GroupBy::kFile; }},
    {"--group-by phase", [](auto& o) { o.filter.group = GroupBy::kPhase; }},
    {"--group-by thread -F",
     [](auto& o) {
       o.filter.group = GroupBy::kThread;
       o.filter.only = {"f2"};
     }},
};

Report chosen(const File& trace, const Choose& choose, PipelineOptions options) {
  choose(options);
  return read({trace}, options);
}

// Everything but the header and what follows the plain profile's sections.
TEST(SampleBuckets, TheWholeIsThatWithoutBuckets) {
  for (uint64_t seed = 1; seed <= seeds(1) * 10; seed++)
    for (const auto& [name, choose] : kChoices) {
      const File trace = random_file(seed);
      const std::string plain = saved(chosen(trace, choose, {}));
      const Report r = chosen(trace, choose, with_buckets(kMinute));
      const std::string bytes = saved(r);
      ASSERT_GT(r.buckets.buckets.size(), 10u);
      ASSERT_TRUE(bytes.substr(32).starts_with(plain.substr(32))) << seed << ' ' << name;
      ASSERT_GT(bytes.size(), plain.size());
      // The reader compares the sums.
      ASSERT_EQ(saved(read({file("p", bytes)}, {})), plain) << seed << ' ' << name;
      ASSERT_EQ(saved(read({file("p", bytes)}, with_buckets(0))), bytes) << seed << ' ' << name;
    }
}

using Figures = std::map<std::string, std::vector<double>>;

// What is shown: a range of the trace counts samples beyond it among those that are filtered.
Figures figures(const Report& r) {
  Figures out;
  for (const ReportFunction& f : r.functions)
    if (f.wall_ns || f.calls || f.samples)
      out[f.name + f.chunk] = {double(f.calls),      double(f.wall_ns), double(f.inclusive_ns),
                               double(f.self_ns),    double(f.samples), f.error,
                               double(f.compiled_ns)};
  out["sums"] = {double(r.self_ns), double(r.idle_ns), double(r.gap_ns)};
  out["samples"] = {double(r.samples.samples - r.samples.filtered), double(r.samples.truncated),
                    double(r.samples.unknown_frames)};
  return out;
}

std::multiset<std::string> folded(const Report& r) {
  std::stringstream out;
  write_folded(out, r, 1);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(out, line);) lines.insert(line);
  return lines;
}

TEST(SampleBuckets, EachHasWhatTheRangeOfTheTraceHas) {
  size_t compared = 0, compiled = 0, filtered = 0;
  for (uint64_t seed = 1; seed <= seeds(1) * 3; seed++)
    for (const auto& [name, choose] : kChoices) {
      if (name == std::string("--max-nodes")) continue;  // What is pruned depends on the order.
      const File trace = random_file(seed);
      const Report whole = chosen(trace, choose, with_buckets(kMinute));
      const File p = file("p", saved(whole));
      for (const auto& [number, bucket] : whole.buckets.buckets) {
        const uint64_t begin = number * kMinute, end = begin + kMinute;
        const std::string what =
            "seed " + std::to_string(seed) + ' ' + name + " bucket " + std::to_string(number);
        const Report mine = read({p}, in_range(at(begin), at(end)));
        // A range has its last tick, too.
        const Report range = chosen(trace, choose, in_range(at(begin), at(end - 2)));
        ASSERT_EQ(figures(mine), figures(range)) << what;
        ASSERT_EQ(folded(mine), folded(range)) << what;
        ASSERT_NEAR(double(mine.duration_ns), double(range.duration_ns), 4) << what;
        ASSERT_EQ(mine.traced_ns, mine.self_ns + mine.idle_ns + mine.gap_ns + mine.filtered_ns);
        compared++;
        filtered += mine.samples.filtered;
        for (const ReportFunction& f : mine.functions) compiled += f.compiled_ns > 0;
      }
    }
  EXPECT_GT(compared, 200u);
  EXPECT_GT(compiled, 500u);
  EXPECT_GT(filtered, 1000u);
}

// What filters leave out, and samples of the other kind, are in the bucket in which they were
// taken.
TEST(SampleBuckets, WhatIsLeftOutIsInItsBucket) {
  const std::string second = std::to_string(kStart - kStart % kMinute + kMinute);
  const std::string clock = "mult=1 shift=0 real=" + second;
  const File trace = file("t", head(clock) +
                                   "sample 1 1000000000 ns=10 tid=7 state=compiled 2:21 1:11\n"
                                   "sample 1 2000000000 ns=20 tid=7 off=1 1:11\n"
                                   "sample 1 59000000000 ns=300 tid=8 cut=1 3:31 ?\n"
                                   "sample 1 60000000000 ns=4000 tid=7 3:31 1:11\n"
                                   "sample 1 61000000000 ns=50000 tid=7 off=1 2:21\n"
                                   "sample 1 62000000000 ns=600000 tid=8 state=compiled 2:21 2:22\n"
                                   "end exit=0\n");
  PipelineOptions o = with_buckets(kMinute);
  o.filter.only = {"f2"};
  const Report r = read({trace}, o);
  ASSERT_EQ(2u, r.buckets.buckets.size());
  const TimeBucket& first = r.buckets.buckets.begin()->second;
  const TimeBucket& last = r.buckets.buckets.rbegin()->second;
  EXPECT_EQ(first.samples, (SampleSums{2, 1, 1, 1, 1, 20}));
  EXPECT_EQ(last.samples, (SampleSums{2, 1, 0, 0, 1, 50000}));
  EXPECT_EQ(first.filtered_ns, 300u);
  EXPECT_EQ(last.filtered_ns, 4000u);
  EXPECT_EQ(first.traced_ns, 310u);
  EXPECT_EQ(first.self_ns, 10u);
  EXPECT_EQ(last.self_ns, 600000u);
  EXPECT_EQ(first.duration_ns, 59 * kSecond);
  EXPECT_EQ(last.duration_ns, 2 * kSecond);
  ASSERT_EQ(1u, last.functions.size());
  EXPECT_EQ(last.functions[0].inclusive_ns, 600000u) << "recursion counts once";
  EXPECT_EQ(last.functions[0].wall_ns, 600000u);
  EXPECT_EQ(last.functions[0].calls, 1u);
}

TEST(SampleBuckets, MergingIsTheSameInAnyOrderAndWhenever) {
  for (const std::string kind : {"", " off=1"})
    for (uint64_t seed = 1; seed <= seeds(1) * 8; seed++) {
      const auto trace = [&](uint64_t n) {
        return file("t" + std::to_string(n), random_samples(n, kind));
      };
      const auto one = [&](uint64_t n) {
        return file("p" + std::to_string(n), saved(read({trace(n)}, with_buckets(kMinute))));
      };
      const File a = one(seed), b = one(seed + 1000), c = one(seed + 2000);
      const auto merged = [](const std::vector<File>& files, uint64_t width = 0) {
        return file("m", saved(read(files, with_buckets(width))));
      };
      const File all = merged({a, b, c});
      ASSERT_EQ(all.bytes, merged({c, a, b}).bytes) << seed;
      ASSERT_EQ(all.bytes, merged({merged({a, b}), c}).bytes) << seed;
      ASSERT_EQ(all.bytes, merged({merged({c, b}), a}).bytes) << seed;
      ASSERT_EQ(all.bytes, merged({trace(seed), b, c}, kMinute).bytes) << seed;
      const File hours = merged({all}, kHour);
      ASSERT_EQ(hours.bytes, merged({a, merged({b, c}, kHour)}, kHour).bytes) << seed;
      ASSERT_EQ(hours.bytes,
                merged({merged({a}, kHour), merged({c, b}, 5 * kMinute)}, kHour).bytes);
      ASSERT_EQ(saved(read({hours}, {})), saved(read({all}, {}))) << seed;
      ASSERT_LT(hours.bytes.size(), all.bytes.size()) << seed;
      // A range of the sum is the sum of the ranges.
      const uint64_t begin = kStart - kStart % kMinute + 2 * kMinute;
      const PipelineOptions range = in_range(at(begin), at(begin + 3 * kMinute));
      const Report part = read({all}, range), parts = read({a, b, c}, range);
      ASSERT_EQ(saved(part), saved(parts)) << seed;
      ASSERT_GT(part.samples.samples, 10u);
      ASSERT_LT(part.samples.samples, 900u);
    }
}

TEST(SampleBuckets, ATimelineNeedsNoProfile) {
  const File trace = random_file(1);
  PipelineOptions o = with_buckets(kMinute);
  o.timeline = true;
  const Report r = read({trace}, o);
  ASSERT_EQ(1u, r.timelines.size());
  EXPECT_EQ(r.timelines[0].start_real_ns, kStart - kStart % kMinute);
  std::map<ReportFunctionId, uint64_t> self;
  for (const ReportLane& lane : r.timelines[0].lanes)
    for (const uint64_t ns : lane.slices) self[lane.function] += ns;
  uint64_t all = 0;
  for (const auto& [function, ns] : self) {
    EXPECT_EQ(r.functions[function].self_ns, ns);
    all += ns;
  }
  EXPECT_EQ(all, r.self_ns);
  PipelineOptions alone;
  alone.timeline = true;
  EXPECT_NE(why_refused({trace}, alone).find("--timeline: t1 has samples"), std::string::npos);
  alone.keeps_buckets = true;
  const Report saved_one = read({file("p", saved(r))}, alone);
  ASSERT_EQ(1u, saved_one.timelines.size());
  EXPECT_EQ(saved_one.timelines[0].traced_ns, r.timelines[0].traced_ns);
}

TEST(SampleBuckets, WhatDoesNotGoTogetherIsRefused) {
  const File trace = random_file(1);
  const File minutes = file("p", saved(read({trace}, with_buckets(kMinute))));
  const File plain = file("plain", saved(read({trace}, {})));
  PipelineOptions waits = with_buckets(kMinute);
  waits.off_cpu = true;
  const File off = file("off", saved(read({trace}, waits)));
  const auto expect = [](const std::string& why, const std::vector<File>& files,
                         const PipelineOptions& o) {
    EXPECT_NE(why_refused(files, o).find(why), std::string::npos) << why_refused(files, o);
  };
  expect("plain has no time buckets, p has time buckets of 1m", {minutes, plain}, with_buckets(0));
  expect("off has samples of blocked time, p has samples of CPU time", {minutes, off},
         with_buckets(0));
  expect("is inside of a bucket of p", {minutes}, in_range(at(kStart), {}));
  expect("t has no time of day",
         {file("t", head("mult=1 shift=0") + "sample 1 1 ns=1 tid=7 1\nend exit=0\n")},
         with_buckets(kMinute));
  PipelineOptions slow = with_buckets(kMinute);
  slow.filter.min_ns = 1;
  expect("-t: t1 has samples", {trace}, slow);
}

// Older programs would show figures of the whole for a range.
TEST(SampleBuckets, ProfilesHaveAVersionOfTheirOwn) {
  const File trace = random_file(1);
  const std::string plain = saved(read({trace}, {}));
  std::string bytes = saved(read({trace}, with_buckets(kMinute)));
  EXPECT_EQ(kSampledVersion, plain[8]);
  EXPECT_EQ(kSampledBucketsVersion, bytes[8]);
  EXPECT_EQ(saved(read({file("p", bytes)}, {})), plain);
  bytes[8]++;
  const uint32_t crc = crc32c(bytes.data(), 28);
  memcpy(bytes.data() + 28, &crc, sizeof crc);
  EXPECT_EQ(why_refused({file("p", bytes)}, {}),
            "p: unknown profile version 4; use a newer luatrace-analyze");
}

TEST(SampleBuckets, TooManyAreRefused) {
  std::string text = head("mult=1 shift=0 real=1");
  for (const uint64_t minute : {uint64_t{1}, uint64_t{100000000}})
    text += "sample 1 " + std::to_string(minute * kMinute) + " ns=1 tid=7 1\n";
  EXPECT_EQ(why_refused({file("far.bin", text)}, with_buckets(kMinute)), "")
      << "none between the two";
  for (uint64_t minute = 2; minute <= kMaxTimeBuckets; minute++)
    text += "sample 1 " + std::to_string(minute * kMinute) + " ns=1 tid=7 1\n";
  EXPECT_NE(why_refused({file("many.bin", text)}, with_buckets(kMinute))
                .find("many.bin has more than 50000"),
            std::string::npos);
  // More than one bucket in a tick.
  text = head("mult=18446744073709551615 shift=0 real=1") +
         "sample 1 0 ns=1 tid=7 1\nsample 1 1 ns=2 tid=7 1\n"
         "sample 1 18446744073709551615 ns=3 tid=7 1\n";
  EXPECT_EQ(read({file("far.bin", text)}, with_buckets(kSecond)).self_ns, 6u);
}

// The same nodes again and again take no more space, different ones do.
TEST(SampleBuckets, EntriesAreBounded) {
  constexpr uint64_t kMax = 10000;
  SampleBuckets buckets(kSecond, "many.bin", kMax);
  for (uint32_t i = 0; i < 50 * kMax; i++) {
    buckets.at(i % 16 * kSecond, {}, 0);
    buckets.add(i % 128, 1, 0);
  }
  EXPECT_THROW(for (uint32_t i = 0; i < 2 * kMax; i++) buckets.add(i, 1, 0), UsageError);
}

// With correct checksums and random bytes in the section of the buckets: refused, or the same sums.
TEST(SampleBuckets, WhatIsForgedIsRefused) {
  const File trace = random_file(5);
  const size_t begin = saved(read({trace}, {})).size();
  const std::string good = saved(read({trace}, with_buckets(kMinute)));
  const Report plain = read({trace}, {});
  const auto [accepted, refused] = read_forged(good, begin, 2000, [&](const Report& all) {
    ASSERT_EQ(figures(all), figures(plain));
    ASSERT_EQ(all.samples, plain.samples);
    ASSERT_EQ(all.filtered_ns, plain.filtered_ns);
  });
  EXPECT_GT(refused, 1500u);
  EXPECT_GT(accepted, 3u);
}

}  // namespace
}  // namespace luatrace::analyze
