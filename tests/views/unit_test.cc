// SPDX-License-Identifier: MIT
// The small parts: patterns, times, histograms, conditions, tables.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <new>
#include <random>
#include <sstream>

#include "analyzer/filter/filter.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/output/table.h"
#include "analyzer/report/conditions.h"
#include "analyzer/report/suggestions.h"
#include "cli/usage_error.h"
#include "views_support.h"

namespace luatrace::analyze {
namespace {

ReportFunction lua(const std::string& name, const std::string& chunk, uint32_t line) {
  ReportFunction f;
  f.kind = FunctionKind::kLua;
  f.name = name;
  f.chunk = chunk;
  f.line = line;
  return f;
}

TEST(Pattern, NamesPlacesGlobsExpressions) {
  ReportFunction f = lua("work", "@app/plugins/auth.lua", 12);
  for (const char* matching : {"work", "wor?", "w*", "auth.lua:12", "app/plugins/auth.lua:12",
                               "app/*", "*.lua:1?", "*/auth.lua:*", "plugins/auth.lua:12",
                               "plugins/*:12", "/^wo/", "/auth\\.lua:12/", "[v-x]ork", "[!a]ork"})
    EXPECT_TRUE(FunctionPattern(matching).matches(f)) << matching;
  for (const char* not_matching :
       {"wor", "orks", "auth.lua", "ugins/auth.lua:12", "/^ork/", "app", "[!w]ork"})
    EXPECT_FALSE(FunctionPattern(not_matching).matches(f)) << not_matching;
  EXPECT_TRUE(FunctionPattern("main chunk").matches(lua("", "@a.lua", 0)));
  f.hint = true;  // Shown as work?.
  for (const char* matching : {"work", "work?", "wor*", "wor??", "*.lua:1?"})
    EXPECT_TRUE(FunctionPattern(matching).matches(f)) << matching;
  EXPECT_FALSE(FunctionPattern("wor?").matches(f));
  f.name = "[GC]";  // The [ of a name that reports show is no glob's.
  f.hint = false;
  EXPECT_TRUE(FunctionPattern("[GC]").matches(f));
  EXPECT_TRUE(FunctionPattern("\\[GC]").matches(f));
  EXPECT_TRUE(FunctionPattern("[[]GC]").matches(f));
  f.name = "G";
  EXPECT_FALSE(FunctionPattern("[GC]").matches(f));
  f.name = "[section] db";
  for (const char* matching : {"[section] db", "[section] d*", "*db"})
    EXPECT_TRUE(FunctionPattern(matching).matches(f)) << matching;
  f.name = "work";
  f.hint = true;
  const ReportFunction code = lua("f", "return 1", 3);
  for (const char* matching : {"[string \"return 1\"]:3", "[string \"ret*"})
    EXPECT_TRUE(FunctionPattern(matching).matches(code)) << matching;
  EXPECT_THROW(FunctionPattern(""), UsageError);
  EXPECT_THROW(FunctionPattern("/(/"), UsageError);
}

TEST(Pattern, GroupsAreNamedByWhatThePatternLeavesOpen) {
  auto group = [](const char* pattern, const char* file) {
    return GroupPattern(pattern).find(file).value_or("-");
  };
  const char* file = "/srv/app/plugins/auth/init.lua";
  EXPECT_EQ(group("plugins/([^/]+)/", file), "auth");
  EXPECT_EQ(group("/plugins/([^/]+)//", file), "auth");
  EXPECT_EQ(group("/plugins/", file), "plugins");
  EXPECT_EQ(group("*plugins/*/*", file), "auth");
  EXPECT_EQ(group("plugins/*/*", file), "auth");  // Without its outer folders.
  EXPECT_EQ(group("plugins/*/init.lua", file), "auth");
  EXPECT_EQ(group("plugins/*", file), "auth/init.lua");
  EXPECT_EQ(group("*.lua", file), "/srv/app/plugins/auth/init");
  EXPECT_EQ(group("auth/init.lua", file), "auth/init.lua");
  EXPECT_EQ(group("*", file), file);
  EXPECT_EQ(group("plugins/*/*", "cache.lua"), "-");
  EXPECT_EQ(group("plugins", file), "-");
  EXPECT_THROW(GroupPattern("("), UsageError);
}

TEST(Suggestions, WhatMayHaveBeenMeant) {
  auto question = [](const char* wanted, std::vector<const char*> names) {
    Suggestions close(wanted);
    for (const char* name : names) close.offer(name);
    return close.question();
  };
  EXPECT_EQ(question("hndle", {"cache", "handle", "main chunk"}), "; did you mean 'handle'?");
  EXPECT_EQ(question("Handle", {"handled", "handle", "handle"}),
            "; did you mean 'handle' or 'handled'?");
  EXPECT_EQ(question("hadnle", {"handle"}), "; did you mean 'handle'?");  // One exchange.
  EXPECT_EQ(question("auth", {"plugins/auth/init.lua", "authorise", "x"}),
            "; did you mean 'authorise'?");  // The other is much further.
  EXPECT_EQ(question("/^aauth/", {"auth"}), "; did you mean 'auth'?");
  EXPECT_EQ(question("work*er", {"wrok"}), "; did you mean 'wrok'?");
  EXPECT_EQ(question("a", {"aa", "ab", "ac", "ad", "cd"}), "; did you mean 'aa', 'ab' or 'ac'?");
  EXPECT_EQ(question("nobody", {"handle", "do"}), "");
  EXPECT_EQ(question("*", {"handle"}), "");
  EXPECT_EQ(question("x", {}), "");
}

// A pattern of many stars on a long name must not take for ever, nor a regular expression the
// stack.
TEST(Pattern, HostileNamesAreHarmless) {
  std::string stars, name(60000, 'a');
  for (int i = 0; i < 200; i++) stars += "*a";
  EXPECT_FALSE(FunctionPattern(stars + "b").matches(lua(name, "@x", 1)));
  EXPECT_FALSE(FunctionPattern("/(a*)*b/").matches(lua(name, "@x", 1)));
  EXPECT_TRUE(FunctionPattern("[").matches(lua("[", "@x", 1)));
}

TEST(Time, UnitsAndRanges) {
  EXPECT_EQ(parse_time("5ms", "x"), 5000000u);
  EXPECT_EQ(parse_time("1.5s", "x"), 1500000000u);
  EXPECT_EQ(parse_time("200us", "x"), 200000u);
  EXPECT_EQ(parse_time("2m", "x"), 120000000000u);
  EXPECT_EQ(parse_time("7", "x"), 7u);
  EXPECT_EQ(parse_time("1h", "x"), 3600000000000u);
  EXPECT_EQ(parse_time("1.14 ms", "x"), 1140000u);  // As reports print it.
  EXPECT_EQ(parse_time("3µs", "x"), 3000u);
  for (const char* bad :
       {"", "ms", "5 x", "-5ms", "5d", "5 ms x", "1e3", "0x10", "99999999999999999999s"})
    EXPECT_THROW(parse_time(bad, "x"), UsageError) << bad;
  TimePoint from, to;
  parse_time_range("20%~1.5s", from, to);
  EXPECT_EQ(from.kind, TimePoint::kPercent);
  EXPECT_EQ(from.percent, 20);
  EXPECT_EQ(to.ns, 1500000000u);
  parse_time_range("@1700000000.000000001~2023-11-14T22:13:21.5Z", from, to);
  EXPECT_EQ(from.kind, TimePoint::kAbsolute);
  EXPECT_EQ(from.ns, 1700000000000000001u);
  EXPECT_EQ(to.ns, 1700000001500000000u);
  for (const char* bad : {"~", "1s", "120%~", "2023-13-45T00:00:00~", "@~", "@1.0000000001~"})
    EXPECT_THROW(parse_time_range(bad, from, to), UsageError) << bad;
}

TEST(Histogram, BucketsAreExactAndFine) {
  for (uint64_t ns = 0; ns < 100000; ns++) {
    uint32_t b = bucket_of(ns);
    ASSERT_LE(bucket_begin(b), ns);
    ASSERT_GT(bucket_begin(b + 1), ns);
  }
  EXPECT_EQ(bucket_of(UINT64_MAX), kBuckets - 1);
  EXPECT_EQ(bucket_begin(kBuckets), UINT64_MAX);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// If there is no memory for all that is kept of a function, nothing is added for it.
TEST(Histogram, IsWholeWhenMemoryEnds) {
  constexpr FunctionId kFar{1u << 27};  // Needs some 20 GB.
  Histograms h;
  h.set_clock({});
  h.add_later(FunctionId(5), 100);
  rlimit usual{};
  getrlimit(RLIMIT_AS, &usual);
  rlimit less = usual;
  less.rlim_cur = rlim_t{4} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  EXPECT_THROW(h.add_later(kFar, 100), std::bad_alloc);
  EXPECT_THROW(h.add_later(kFar, 100), std::bad_alloc);
  setrlimit(RLIMIT_AS, &usual);
  h.add_later(FunctionId(6), 100);
  h.settle();
  EXPECT_EQ(h.stats(FunctionId(5)).complete, 1u);
  EXPECT_EQ(h.stats(FunctionId(6)).complete, 1u);
}
#endif

// Every percentile is within 3.2 % of the true one, and the deviation is exact.
TEST(Histogram, PercentilesOfRandomValues) {
  std::mt19937_64 random(1);
  Histograms h;
  std::vector<uint64_t> values;
  double sum = 0, squares = 0;
  for (int i = 0; i < 50000; i++) {
    uint64_t v = random() >> (24 + random() % 36);
    values.push_back(v);
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
    h.add(FunctionId(3), v);
  }
  std::sort(values.begin(), values.end());
  CallTimes stats = h.stats(FunctionId(3));
  EXPECT_EQ(stats.complete, values.size());
  EXPECT_EQ(stats.min, values.front());
  EXPECT_EQ(stats.max, values.back());
  Distribution d = h.of(FunctionId(3));
  EXPECT_EQ(d.count(), values.size());
  for (double p : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    auto rank = static_cast<size_t>(std::max(1.0, std::ceil(p / 100 * 50000)));
    auto want = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(d.percentile(p, stats.min, stats.max)), want, want / 31 + 0.5)
        << p;
  }
  double n = 50000, want = std::sqrt(squares / n - sum / n * sum / n);
  EXPECT_NEAR(deviation(stats.complete, stats.sum, d.squares), want, want * 1e-6);
}

// Adding many at a time gives exactly what adding one by one gives: at the edges of buckets, of
// batches and of what a count can hold, and for every clock.
TEST(Histogram, LaterIsTheSame) {
  std::mt19937_64 random(3);
  const Clock clocks[] = {{0, 0, 1, 0, 0, 0},
                          {0, 40, 422873201345, 0, 0, 0},
                          {0, 40, (1ull << 40) - 1, 0, 0, 0},
                          {0, 63, UINT64_MAX, 0, 0, 0},
                          {0, 10, 3, 0, 0, 0},
                          {0, 0, 1000, 0, 0, 0},
                          {0, 20, 41943040, 0, 0, 0}};
  for (const Clock& clock : clocks) {
    Histograms later, now;
    later.set_clock(clock);
    now.set_clock(clock);
    auto add = [&](uint64_t number, uint64_t ticks) {
      const FunctionId function(static_cast<uint32_t>(number));
      later.add_later(function, ticks);
      now.add(function, ticks);
    };
    for (int i = 0; i < 300000; i++) {
      const uint64_t edge = uint64_t{1} << random() % 40;
      add(random() % 5, edge + random() % 3 - 1);
      add(5 + random() % 100, random() >> (random() % 64));
      add(200, random() % 50);  // More than a count holds.
      if (i < 50) add(300, random() % 2);
    }
    later.settle();
    for (FunctionId f; f < 400; ++f) {
      const CallTimes a = later.stats(f), b = now.stats(f);
      ASSERT_EQ(std::tie(a.min, a.max, a.sum, a.complete),
                std::tie(b.min, b.max, b.sum, b.complete))
          << f << ", " << clock.mult;
      const Distribution x = later.of(f), y = now.of(f);
      ASSERT_EQ(x.squares, y.squares) << f;
      ASSERT_EQ(x.buckets.size(), y.buckets.size()) << f;
      for (size_t i = 0; i < x.buckets.size(); i++) {
        ASSERT_EQ(x.buckets[i].bucket, y.buckets[i].bucket) << f;
        ASSERT_EQ(x.buckets[i].count, y.buckets[i].count) << f << ", " << x.buckets[i].bucket;
      }
    }
  }
}

// The instructions that only some processors have give the same results as those that all have.
TEST(Histogram, TogetherIsTheSameEverywhere) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100000; i++) {
    CallBatch calls;
    for (uint32_t& ticks : calls.ticks)
      ticks = static_cast<uint32_t>(random() % (1 << 24)) >> random() % 24;
    const Rate rate{1 + (random() >> (24 + random() % 40)),
                    8 + static_cast<uint32_t>(random() % 40)};
    if (rate.mult * (1 << 24) >> rate.shift >= 1 << 29) continue;
    const auto min = static_cast<uint32_t>(random() % 8),
               max = static_cast<uint32_t>(random() % (1 << 25));
    const BatchSums a = sums_of(calls, rate, 77, min, max);
    const BatchSums b = plain_sums_of(calls, rate, 77, min, max);
    ASSERT_EQ(std::tie(a.ticks, a.squares, a.within), std::tie(b.ticks, b.squares, b.within));
    for (uint32_t n = 0; n < kBatchSize; n++) {
      ASSERT_EQ(a.place[n], b.place[n]);
      ASSERT_EQ(a.place[n], 77 + bucket_of(calls.ticks[n] * rate.mult >> rate.shift));
    }
  }
}

TEST(Histogram, AddingIsAssociative) {
  std::mt19937_64 random(2);
  Distribution parts[3];
  for (auto& part : parts) {
    Histograms h;
    for (int i = 0; i < 100; i++) h.add(FunctionId(), random() >> (30 + random() % 30));
    part = h.of(FunctionId());
  }
  Distribution left = parts[0], right = parts[1];
  left.add(parts[1]);
  left.add(parts[2]);
  right.add(parts[2]);
  right.add(parts[0]);
  EXPECT_EQ(left.squares, right.squares);
  ASSERT_EQ(left.buckets.size(), right.buckets.size());
  for (size_t i = 0; i < left.buckets.size(); i++) {
    EXPECT_EQ(left.buckets[i].bucket, right.buckets[i].bucket);
    EXPECT_EQ(left.buckets[i].count, right.buckets[i].count);
  }
}

// f1 runs 0..100 and calls f2 twice (10..30, 40..80). Idle from 100 to 200.
Report small() {
  return analyse_filtered(
      trace_text("0 start\n0 entry 1\n10 entry 2\n30 return 2\n40 entry 2\n80 return 2\n"
                 "100 return 1\n200 stop close\n"),
      {});
}

TEST(Condition, Comparisons) {
  Report r = small();
  std::vector<ComparedValue> values;
  auto is = [&](const char* text) { return Condition(text, false).test(r, nullptr, values); };
  for (const char* yes :
       {"self(f2) > 59%", "self(f2) <= 60%", "self(f1) == 40ns", "calls(f2) == 2",
        "total(f1)>=100ns", "max(f2) == 40ns", "avg(f2) == 30 ns", "self(f1) > 0",
        "self(f2) > 59.5 % and calls(f2) > 1", "self(*) > 55%", "idle == 50%", "traced == 200ns",
        "lost == 0", "calls(f1) == 1 and calls(f2) == 2", "calls(f1) == 9 or calls(f2) == 2",
        "share('f2') > 59", "p50(/^f2/) < 1ms"})
    EXPECT_TRUE(is(yes)) << yes;
  EXPECT_THROW(is("(calls(f1) == 9 or calls(f1) == 1) and not_there == 0 or events > 0"),
               UsageError);
  for (const char* no :
       {"self(f2) > 60%", "calls(f2) != 2", "self(f1) > 1us", "calls(f1) == 9", "idle > 50%"})
    EXPECT_FALSE(is(no)) << no;
  EXPECT_TRUE(is("calls(nobody) < 1"));
  const Condition either("calls(f1) == 1 or (calls(nobody) > 1 and self(/^x/) > 1%)", false);
  EXPECT_TRUE(either.test(r, nullptr, values));
  EXPECT_EQ(either.missing(r, nullptr), (std::vector<std::string>{"nobody", "/^x/"}));
  for (const char* bad : {"",
                          "self",
                          "self(f1)",
                          "self(f1) >",
                          "self(f1) > x",
                          "self(f1) = 3",
                          "luck(f1) > 3",
                          "self(f1 > 3ns",
                          "self() > 3ns",
                          "calls(f1) > 3%",
                          "self(f1) > 20",
                          "avg(f1) > 1 and calls(f1) > 3",
                          "calls(f1) > 3ms",
                          "idle > 3",
                          "events > 3%",
                          "lost > 3ns",
                          "share(f1) > 3ms",
                          "change(self(f1)) > 3%",
                          "calls(f1) > 3 4",
                          "(calls(f1) > 3",
                          "and",
                          "calls('f1) > 3"})
    EXPECT_THROW(Condition(bad, false), UsageError) << bad;
  EXPECT_THROW(Condition(std::string(5000, '('), false), UsageError);
}

TEST(Condition, Changes) {
  Report now = small();
  Report before = analyse_filtered(trace_text("0 start\n0 entry 1\n10 entry 2\n30 return 2\n80 "
                                              "return 1\n80 entry 3\n90 return 3\n90 stop close\n"),
                                   {});
  std::vector<ComparedValue> values;
  auto is = [&](const char* text) { return Condition(text, true).test(now, &before, values); };
  EXPECT_TRUE(is("change(self(f2)) == 40ns"));  // 60 - 20
  EXPECT_TRUE(is("change(self(f2)) == 200%"));
  EXPECT_TRUE(is("change(calls(f2)) == 1"));
  EXPECT_TRUE(is("change(calls(f3)) == -1"));    // Vanished.
  EXPECT_TRUE(is("change(self(f1)) == -20ns"));  // 40 - 60
  EXPECT_TRUE(is("change(idle) > 1000%"));       // From nothing.
  EXPECT_FALSE(is("change(self(f1)) > 0"));
  const Condition vanished("self(f3) > 1% and change(calls(f9)) > 0", true);
  EXPECT_EQ(vanished.missing(now, &before), std::vector<std::string>{"f9"});
}

TEST(Table, CsvAndJsonOfAnyText) {
  Table t;
  t.name = "x";
  t.columns = {{"name", "name", true}, {"a_ns", "a"}, {"hidden", "", true, Column::kTextOnly}};
  t.rows.push_back({Cell::of_text("a,\"b\"\n\x1b[31m"), Cell::of_time(1500), Cell::of_text("no")});
  t.rows.push_back({Cell(), Cell(), Cell()});
  std::ostringstream csv, json, text;
  write_csv(csv, {t});
  EXPECT_EQ(csv.str(), "name,a_ns\n\"a,\"\"b\"\"\\n\\x1b[31m\",1500\n,\n");
  write_json(json, t, " ");
  EXPECT_EQ(json.str(),
            "[ {\"name\": \"a,\\\"b\\\"\\u000a\\u001b[31m\", \"a_ns\": 1500}, "
            "{\"name\": null, \"a_ns\": null}]");
  write_text(text, t, {});
  EXPECT_EQ(text.str().find('\x1b'), std::string::npos);
  EXPECT_NE(text.str().find("1.50 us"), std::string::npos);
}

TEST(Table, LastColumnFitsTheWindow) {
  Table t;
  t.columns = {{"n", "n"}, {"name", "name", true}};
  t.rows.push_back({Cell::of_count(1), Cell::of_text(std::string(200, 'x') + "\xc3\xa9")});
  std::ostringstream text;
  write_text(text, t, {false, 40});
  EXPECT_EQ(text.str(),
            "n  name\n1  " + std::string(11, 'x') + "..." + std::string(22, 'x') + "\xc3\xa9\n");
}

}  // namespace
}  // namespace luatrace::analyze
