// SPDX-License-Identifier: MIT
// Time buckets: they sum to the profile that there is without them, to the byte; a bucket has what
// --time-range finds in the trace; merging, and making buckets longer, gives the same in any order;
// what is forged is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <sstream>

#include "analyzer/output/folded.h"
#include "analyzer/pipeline.h"
#include "analyzer/report/saved_profile.h"
#include "bucket_options.h"
#include "cli/usage_error.h"
#include "model.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

// A tick takes somewhat more than a second, so that a bucket of a minute has some dozen events.
std::string slow_clock(uint64_t start = kStart) {
  return "mult=9600000013 shift=3 start=3 real=" + std::to_string(start);
}

using Bytes = std::vector<uint8_t>;
using File = FileBytes;
constexpr auto file = file_bytes;

File random_file(uint64_t seed) {
  const std::string name = "t" + std::to_string(seed);
  if (seed % 3) return file(name, random_trace(seed, slow_clock()));
  return {name, damaged_trace(seed, slow_clock())};
}

std::string folded(const Report& r) {
  std::ostringstream out;
  write_folded(out, r, 1);
  return out.str();
}

// Functions of one name are in any order.
std::multiset<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

// Everything but the header and what follows the plain profile's sections.
TEST(Buckets, TheWholeIsThatWithoutBuckets) {
  size_t buckets = 0;
  for (uint64_t seed = 1; seed <= seeds(1) * 200; seed++) {
    const File trace = random_file(seed);
    const std::string plain = saved(read({trace}, {}));
    for (const size_t jobs : {1, 3}) {
      const Report r = read({trace}, with_buckets(kMinute, jobs));
      const std::string bytes = saved(r);
      ASSERT_TRUE(bytes.substr(32).starts_with(plain.substr(32))) << "seed " << seed;
      ASSERT_GT(bytes.size(), plain.size());
      // The reader compares the sums.
      ASSERT_EQ(saved(read({file("p", bytes)}, {})), plain) << "seed " << seed;
      ASSERT_EQ(saved(read({file("p", bytes)}, with_buckets(0))), bytes) << "seed " << seed;
      buckets += r.buckets.buckets.size();
    }
  }
  EXPECT_GT(buckets, 1000u);
}

using Figures = std::map<std::string, std::vector<uint64_t>>;

Figures figures(const Report& r) {
  Figures out;
  for (const ReportFunction& f : r.functions) {
    const std::vector<uint64_t> all{f.calls,    f.wall_ns, f.inclusive_ns, f.self_ns,
                                    f.complete, f.min_ns,  f.max_ns,       f.sum_ns};
    if (all != std::vector<uint64_t>(all.size()))
      out[f.name + f.chunk + std::to_string(f.line) + std::to_string(static_cast<int>(f.kind))] =
          all;
  }
  out["sums"] = {r.traced_ns, r.self_ns, r.idle_ns, r.gap_ns};
  return out;
}

TEST(Buckets, ARangeWithAllOfThemHasEverything) {
  for (uint64_t seed = 1; seed <= seeds(1) * 100; seed++) {
    const File trace = random_file(seed);
    const File p = file("p", saved(read({trace}, with_buckets(kMinute))));
    const Report plain = read({trace}, {}), all = read({p}, in_range(of_day(0), of_day(kDay)));
    ASSERT_EQ(figures(all), figures(plain)) << "seed " << seed;
    ASSERT_EQ(sorted_lines(folded(all)), sorted_lines(folded(plain))) << "seed " << seed;
    ASSERT_EQ(all.trust.events, plain.trust.events);
  }
}

// The other way to cut a trace by time. Times may differ by what is rounded, of each function.
void expect_alike(const Figures& bucket, const Figures& range, size_t first, size_t end,
                  uint64_t off, const std::string& what) {
  for (const auto* one : {&bucket, &range})
    for (const auto& [name, list] : *one)
      for (size_t i = first; i < std::min(end, list.size()); i++) {
        const auto value = [&](const Figures& f) { return f.contains(name) ? f.at(name)[i] : 0; };
        const uint64_t a = value(bucket), b = value(range);
        ASSERT_LE(a > b ? a - b : b - a, off)
            << what << ' ' << name << ' ' << i << ": " << a << ", by the range " << b;
      }
}

TEST(Buckets, EachHasWhatTheRangeOfTheTraceHas) {
  size_t compared = 0;
  for (uint64_t seed = 1; seed <= seeds(1) * 30; seed++) {
    std::string text = trace_text(model::to_text(model::generate(seed, 20 + seed * 10)));
    const std::string fast = "mult=1 shift=0";
    const File trace = file("t", text.replace(text.find(fast), fast.size(), slow_clock()));
    const Report whole = read({trace}, with_buckets(kMinute));
    const File p = file("p", saved(whole));
    for (const auto& [number, bucket] : whole.buckets.buckets) {
      const uint64_t begin = number * kMinute, end = begin + kMinute;
      const std::string what = "seed " + std::to_string(seed) + " bucket " + std::to_string(number);
      const Figures mine = figures(read({p}, in_range(at(begin), at(end))));
      expect_alike(mine, figures(read({trace}, in_range(at(begin), at(end)))), 1, 4, 10, what);
      // A range has the calls of its last tick, too: so it ends a tick earlier here.
      const Figures calls = figures(read({trace}, in_range(at(begin), at(end - 1200000002))));
      Figures of_functions = mine, others = calls;
      of_functions.erase("sums"), others.erase("sums");
      expect_alike(of_functions, others, 0, 1, 0, what);
      if (HasFatalFailure()) return;
      compared++;
    }
  }
  EXPECT_GT(compared, 100u);
}

TEST(Buckets, MergingIsTheSameInAnyOrderAndWhenever) {
  for (uint64_t seed = 1; seed <= seeds(1) * 60; seed++) {
    auto one = [&](uint64_t n, uint64_t width) {
      return file("p" + std::to_string(n), saved(read({random_file(n)}, with_buckets(width))));
    };
    const File a = one(seed, kMinute), b = one(seed + 1000, kMinute), c = one(seed + 2000, kMinute);
    auto merged = [](const std::vector<File>& files, uint64_t width = 0) {
      return file("m", saved(read(files, with_buckets(width))));
    };
    const File all = merged({a, b, c});
    ASSERT_EQ(all.bytes, merged({c, a, b}).bytes) << seed;
    ASSERT_EQ(all.bytes, merged({merged({a, b}), c}).bytes) << seed;
    ASSERT_EQ(all.bytes, merged({merged({c, b}), a}).bytes) << seed;
    // Also with the traces themselves, and into longer buckets before or after.
    ASSERT_EQ(all.bytes, merged({random_file(seed), b, c}, kMinute).bytes) << seed;
    const File hours = merged({all}, kHour);
    ASSERT_EQ(hours.bytes, merged({a, merged({b, c}, kHour)}, kHour).bytes) << seed;
    ASSERT_EQ(hours.bytes, merged({merged({a}, kHour), merged({c, b}, 5 * kMinute)}, kHour).bytes);
    ASSERT_EQ(saved(read({hours}, {})), saved(read({all}, {}))) << seed;
    ASSERT_LT(hours.bytes.size(), all.bytes.size()) << seed;
  }
}

// f1 runs for 30 s in each of the given minutes of the day, f2 in the rest of it.
std::string day(uint64_t start, const std::vector<int>& minutes) {
  std::ostringstream events;
  events << "0 start\n0 entry 2\n";
  for (const int m : minutes) events << m * 60 + 10 << " entry 1\n" << m * 60 + 40 << " return 1\n";
  events << 24 * 3600 << " return 2\n" << 24 * 3600 << " stop close\n";
  std::string text = trace_text(events.str());
  const std::string clock = "mult=1 shift=0";
  return text.replace(text.find(clock), clock.size(),
                      "mult=1000000000 shift=0 real=" + std::to_string(start));
}

uint64_t self_of(const Report& r, const std::string& name) {
  for (const ReportFunction& f : r.functions)
    if (f.name == name) return f.self_ns;
  return 0;
}

TEST(Buckets, ATimeOfDayIsTheSameHourOfAnyDay) {
  const uint64_t first = 20000 * kDay;
  const auto save = [](const std::string& trace) {
    return file("p", saved(read({file("t", trace)}, with_buckets(kMinute))));
  };
  const File monday = save(day(first, {840, 841, 900})), tuesday = save(day(first + kDay, {859}));
  const auto hour = [](const File& f) {
    return read({f}, in_range(of_day(14 * kHour), of_day(15 * kHour)));
  };
  EXPECT_EQ(self_of(hour(monday), "f1"), 60 * kSecond);
  EXPECT_EQ(self_of(hour(tuesday), "f1"), 30 * kSecond);
  EXPECT_EQ(hour(tuesday).traced_ns, kHour);
  EXPECT_EQ(hour(tuesday).duration_ns, kHour);
  EXPECT_EQ(hour(tuesday).files[0].signature->filters, "-r 14:00:00~15:00:00");
  const File both = file("b", saved(read({monday, tuesday}, with_buckets(0))));
  EXPECT_EQ(self_of(hour(both), "f1"), 90 * kSecond);
  const uint64_t noon = first + kDay + 12 * kHour;
  EXPECT_EQ(self_of(read({both}, in_range(at(noon), {})), "f1"), 30 * kSecond);
  EXPECT_EQ(self_of(read({file("t", day(first, {840}))}, in_range(of_day(14 * kHour), {})), "f1"),
            30 * kSecond)
      << "of a trace, on the day on which it begins";
}

TEST(Buckets, ACallIsCountedWhereItBeginsItsDurationWhereItEnds) {
  std::string trace = day(20000 * kDay, {});
  const std::string call = "0 1 entry 2\n", at_the_border = "60 1 entry 1\n60 1 return 1\n";
  trace.insert(trace.find(call) + call.size(), at_the_border);
  const Report r = read({file("t", trace)}, with_buckets(kMinute));
  ASSERT_EQ(r.buckets.buckets.size(), 24u * 60 + 1);
  const uint64_t first = 20000 * kDay / kMinute;
  const auto functions = [&](uint64_t n) { return r.buckets.buckets.at(first + n).functions; };
  ASSERT_EQ(functions(0).size(), 1u);
  EXPECT_EQ(functions(0)[0].calls, 1u);
  EXPECT_EQ(functions(0)[0].complete, 0u);
  EXPECT_EQ(functions(0)[0].inclusive_ns, kMinute);
  ASSERT_EQ(functions(1).size(), 2u) << "what happens at the border is in the bucket that begins";
  const auto last = functions(24 * 60 - 1);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].calls, 0u);
  EXPECT_EQ(r.buckets.buckets.at(first + 24 * 60).traced_ns, 0u);
  EXPECT_EQ(functions(24 * 60)[0].complete, 1u) << "returned as the last bucket began";
}

TEST(Buckets, TooManyAreRefused) {
  const std::string far = "0 start\n0 entry 1\n400000000 return 1\n400000000 stop close\n";
  std::string text = trace_text(far);
  const std::string clock = "mult=1 shift=0";
  text.replace(text.find(clock), clock.size(), "mult=1000000000 shift=0 real=1");
  EXPECT_NE(why_refused({file("far.bin", text)}, with_buckets(kMinute))
                .find("far.bin has more than 50000"),
            std::string::npos);
  EXPECT_EQ(why_refused({file("far.bin", text)}, with_buckets(kDay)), "");
  // More than one bucket in a tick.
  text.replace(text.find("mult=1000000000"), 15, "mult=18446744073709551615");
  EXPECT_EQ(why_refused({file("far.bin", text)}, with_buckets(kSecond)), "");
}

// Many coroutines wait, and each bucket has something of each: refused before it takes minutes.
TEST(Buckets, TooMuchThatWaitsIsRefused) {
  std::ostringstream events;
  events << "0 start\n0 ringblock co=1 tid=7 rec=1\n";
  for (int i = 2; i < 20000; i++)
    events << "0 create " << i << "\n0 resume " << i << "\n0 entry 1\n0 suspend yield\n";
  events << 49999ull * 60 << " stop close\n";
  std::string text = trace_text(events.str());
  const std::string clock = "mult=1 shift=0";
  text.replace(text.find(clock), clock.size(), "mult=1000000000 shift=0 real=1");
  EXPECT_NE(
      why_refused({file("waits.bin", text)}, with_buckets(kMinute)).find("too many calls are open"),
      std::string::npos);
}

TEST(Buckets, WhatDoesNotGoTogetherIsRefused) {
  const File trace = file("t.bin", day(20000 * kDay, {840}));
  const auto save = [&](uint64_t width) {
    return file("p" + std::to_string(width / kMinute), saved(read({trace}, with_buckets(width))));
  };
  const File plain = file("plain", saved(read({trace}, {})));
  const auto expect = [](const std::string& why, const std::vector<File>& files,
                         const PipelineOptions& o) {
    EXPECT_NE(why_refused(files, o).find(why), std::string::npos) << why_refused(files, o);
  };
  const File minutes = save(kMinute), hours = save(kHour), odd = save(45 * kMinute);
  expect("plain has no time buckets, p1 has time buckets of 1m", {minutes, plain}, with_buckets(0));
  expect("t.bin has no time buckets, p1 has time buckets of 1m", {minutes, trace}, with_buckets(0));
  expect("p60 has time buckets of 1h, p1 has time buckets of 1m", {minutes, hours},
         with_buckets(0));
  expect("", {minutes, hours, plain}, {});
  expect("p60 has buckets of 1h, which can only be merged", {hours}, with_buckets(kMinute));
  expect("p45 has buckets of 45m, which can only be merged", {odd}, with_buckets(kHour));
  expect("plain has no time buckets: make it again", {plain}, with_buckets(kHour));
  const auto range = [](TimePoint from, TimePoint to) { return in_range(from, to); };
  expect("this one no time buckets, which --time-range needs", {plain}, range(of_day(0), {}));
  expect(
      "14:30:00 is inside of a bucket of p60, which has buckets of 1h: give 14:00:00 or 15:00:00",
      {hours}, range(of_day(14 * kHour + 30 * kMinute), {}));
  expect("2024-10-04T00:00:01 is inside of a bucket of p1", {minutes},
         range({}, at(20000 * kDay + kSecond)));
  expect("of which only time buckets are known", {minutes},
         range({TimePoint::kRelative, 5, 0}, {}));
  expect("of which only time buckets are known", {minutes},
         range({TimePoint::kPercent, 0, 10}, {}));
  std::string timeless = trace_text("0 start\n0 entry 1\n9 return 1\n9 stop close\n");
  expect("t has no time of day", {file("t", timeless)}, with_buckets(kMinute));
  PipelineOptions filtered = with_buckets(kMinute);
  filtered.filter.depth = 1;
  expect("--bucket cannot be combined with a filter", {trace}, filtered);
}

// With correct checksums and random bytes in the section of the buckets: refused, or the same sums.
TEST(Buckets, WhatIsForgedIsRefused) {
  const File trace = file("t", random_trace(5, slow_clock()));
  const size_t begin = saved(read({trace}, {})).size();
  const std::string good = saved(read({trace}, with_buckets(kMinute)));
  const Figures whole = figures(read({trace}, {}));
  const auto [accepted, refused] =
      read_forged(good, begin, 4000, [&](const Report& all) { ASSERT_EQ(figures(all), whole); });
  EXPECT_GT(refused, 3000u);
  EXPECT_GT(accepted, 10u);
}

}  // namespace
}  // namespace luatrace::analyze
