// SPDX-License-Identifier: MIT
// Filters and groupings against the slow model, on random programs; and what must hold for any
// program under any filter and grouping: self + idle + unknown + filtered = traced.
#include <gtest/gtest.h>

#include <random>

#include "filter_model.h"
#include "views_support.h"

namespace luatrace::analyze {
namespace {

using Random = std::mt19937_64;

std::string name_of(uint64_t number) {
  return std::to_string(number).insert(0, 1, 'f');
}

std::vector<std::string> names(Random& random, int limit) {
  std::vector<std::string> out;
  for (uint64_t n = 1 + random() % static_cast<uint64_t>(limit); n > 0; n--)
    out.push_back(name_of(1 + random() % 9));
  return out;
}

// Each filter alone and together with others. Short calls are only compared where coroutines do not
// move from place to place.
FilterOptions random_filter(Random& random, bool comparable) {
  FilterOptions o;
  auto maybe = [&] { return random() % 4 == 0; };
  if (maybe()) o.only = names(random, 2);
  if (maybe()) o.without = names(random, 2);
  if (maybe()) o.callers = names(random, 2);
  if (maybe()) o.hide = names(random, 3);
  if (maybe()) o.functions = names(random, 9);
  if (maybe()) o.depth = 1 + static_cast<uint32_t>(random() % 4);
  if (maybe()) o.coroutines = {{kNoStream, CoroutineId(1 + static_cast<uint32_t>(random() % 3))}};
  if (maybe()) o.mode = random() % 2 ? CoroutineMode::kSeparate : CoroutineMode::kMerged;
  if (maybe() && (!comparable || o.mode == CoroutineMode::kSeparate)) o.min_ns = 1 + random() % 200;
  if (!comparable) o.group = static_cast<GroupBy>(random() % 9);
  o.group_pattern = "x.(l)ua";
  o.plugins = {"x.(l)ua"};
  return o;
}

struct Range {
  uint64_t from = 0, to = UINT64_MAX;
};

Range random_range(Random& random, const std::vector<model::Event>& events) {
  if (random() % 3) return {};
  const uint64_t last = events.back().tick;
  Range r{random() % (last + 1), random() % (last + 1)};
  if (r.from > r.to) std::swap(r.from, r.to);
  return r;
}

std::string describe(const FilterOptions& o, Range r) {
  std::string out;
  auto list = [&](const char* name, const std::vector<std::string>& words) {
    for (const auto& word : words) out += std::string(" ") + name + ' ' + word;
  };
  list("-F", o.only);
  list("-N", o.without);
  list("-C", o.callers);
  list("-H", o.hide);
  list("--function", o.functions);
  for (const auto& c : o.coroutines) out += " --coroutine " + std::to_string(c.id);
  return out + " -D " + std::to_string(o.depth) + " -t " + std::to_string(o.min_ns) + " mode " +
         std::to_string(static_cast<int>(o.mode)) + " group " +
         std::to_string(static_cast<int>(o.group)) + " range " + std::to_string(r.from) + '~' +
         std::to_string(r.to);
}

std::string text(const model::Numbers& n) {
  return "calls " + std::to_string(n.calls) + " running " + std::to_string(n.running) + " self " +
         std::to_string(n.self) + " complete " + std::to_string(n.complete) + " min " +
         std::to_string(n.min) + " max " + std::to_string(n.max) + " sum " + std::to_string(n.sum);
}

std::string differences(const Report& r, const model::Filtered& m) {
  std::string out;
  for (uint32_t i = 1; i <= 9; i++) {
    model::Numbers want = m.functions.count(i) ? m.functions.at(i) : model::Numbers{}, have;
    for (const auto& f : r.functions)
      if (f.name == name_of(i))
        have = {f.calls, 0, f.inclusive_ns, f.self_ns, f.complete, f.min_ns, f.max_ns, f.sum_ns};
    if (!(want == have))
      out += name_of(i) + "\n have " + text(have) + "\n want " + text(want) + '\n';
  }
  auto sum = [&](const char* name, uint64_t have, uint64_t want) {
    if (have != want)
      out += std::string(name) + ": have " + std::to_string(have) + " want " +
             std::to_string(want) + '\n';
  };
  uint64_t groups = 0;  // Time of coroutines without a call of their own.
  for (const auto& f : r.functions) groups += f.kind == FunctionKind::kGroup ? f.self_ns : 0;
  sum("idle", r.idle_ns, m.idle);
  sum("gap", r.gap_ns, m.gap);
  sum("filtered", r.filtered_ns + groups, m.filtered);
  sum("traced", r.traced_ns, m.traced);
  return out;
}

TEST(Filter, AgreesWithTheModel) {
  for (uint64_t seed = 1; seed <= 4000; seed++) {
    Random random(seed);
    auto events = model::generate(seed, 20 + seed % 300);
    FilterOptions options = random_filter(random, true);
    Range range = random_range(random, events);
    auto wanted = model::filter(model::evaluate(events), options, range.from, range.to);
    const std::string text = trace_text(model::to_text(events));
    for (auto& report : {analyse_filtered(text, options, range.from, range.to),
                         sum_filtered(text, options, range.from, range.to)})
      ASSERT_EQ(differences(report, wanted), "")
          << "seed " << seed << describe(options, range) << '\n'
          << model::to_text(events);
  }
}

void expect_sums(const Report& r, const std::string& what) {
  ASSERT_EQ(r.self_ns + r.idle_ns + r.gap_ns + r.filtered_ns, r.traced_ns) << what;
  ASSERT_EQ(inclusive_ns(r.tree)[0], r.self_ns) << what;
  uint64_t self = 0;
  for (const auto& f : r.functions) {
    ASSERT_LE(f.self_ns, f.inclusive_ns) << what << f.name;
    ASSERT_LE(f.inclusive_ns, f.wall_ns) << what << f.name;
    ASSERT_EQ(f.times.count(), f.complete) << what << f.name;
    self += f.self_ns;
  }
  ASSERT_EQ(self, r.self_ns) << what;
}

TEST(Filter, AnyFilterAndGroupingAddsUp) {
  for (uint64_t seed = 1; seed <= 4000; seed++) {
    Random random(seed * 7);
    auto events = model::generate(seed, 20 + seed % 300);
    FilterOptions options = random_filter(random, false);
    Range range = random_range(random, events);
    auto report =
        analyse_filtered(trace_text(model::to_text(events)), options, range.from, range.to);
    expect_sums(report, "seed " + std::to_string(seed) + describe(options, range));
    if (HasFatalFailure()) return;
  }
}

// Without a filter the sink of filters has the figures of the sink of sums.
TEST(Filter, BothSinksAgree) {
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    std::string text = trace_text(model::to_text(model::generate(seed, 20 + seed % 300)));
    Report slow = analyse_filtered(text, {}, 0, UINT64_MAX);
    Report fast = analyse(text).report;
    ASSERT_EQ(slow.idle_ns, fast.idle_ns) << seed;
    ASSERT_EQ(slow.gap_ns, fast.gap_ns) << seed;
    ASSERT_EQ(slow.traced_ns, fast.traced_ns) << seed;
    ASSERT_EQ(slow.duration_ns, fast.duration_ns) << seed;
    for (const auto& f : fast.functions) {
      if (f.kind != FunctionKind::kLua || !f.wall_ns) continue;
      auto it = std::find_if(slow.functions.begin(), slow.functions.end(),
                             [&](auto& g) { return g.name == f.name; });
      ASSERT_NE(it, slow.functions.end()) << seed;
      ASSERT_EQ(std::tie(it->calls, it->wall_ns, it->inclusive_ns, it->self_ns, it->complete,
                         it->min_ns, it->max_ns, it->sum_ns),
                std::tie(f.calls, f.wall_ns, f.inclusive_ns, f.self_ns, f.complete, f.min_ns,
                         f.max_ns, f.sum_ns))
          << seed << ' ' << f.name;
    }
  }
}

}  // namespace
}  // namespace luatrace::analyze
