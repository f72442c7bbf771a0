// SPDX-License-Identifier: MIT
// The analyzer against the slow model, on random streams that obey the rules of the VM; and what
// must hold for any stream at all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <random>

#include "model.h"
#include "support.h"

namespace luatrace::analyze {
namespace model {

static std::ostream& operator<<(std::ostream& out, const Numbers& n) {
  return out << "calls " << n.calls << " wall " << n.wall << " running " << n.running << " self "
             << n.self << " complete " << n.complete << " min " << n.min << " max " << n.max
             << " sum " << n.sum;
}

}  // namespace model

namespace {

model::Numbers numbers(const ReportFunction& f) {
  return {f.calls, f.wall_ns, f.inclusive_ns, f.self_ns, f.complete, f.min_ns, f.max_ns, f.sum_ns};
}

void compare(const Analysed& a, const model::Result& m) {
  for (uint32_t i = 1; i <= 9; i++) {
    auto want = m.functions.count(i) ? m.functions.at(i) : model::Numbers{};
    model::Numbers have;
    for (const auto& f : a.report.functions)
      if (f.name == "f" + std::to_string(i)) have = numbers(f);
    EXPECT_TRUE(have == want) << "f" << i << "\nhave " << have << "\nwant " << want;
  }
  EXPECT_EQ(a.report.idle_ns, m.idle);
  EXPECT_EQ(a.report.gap_ns, m.gap);
  EXPECT_EQ(a.report.traced_ns, m.traced);
  const Trust& t = a.trust();
  EXPECT_EQ(t.lost, m.lost);
  EXPECT_EQ(t.truncated, m.truncated);
  EXPECT_EQ(t.open_start, m.open_start);
  EXPECT_EQ(t.open_end, m.open_end);
  EXPECT_EQ(t.open_gap, m.open_gap);
  EXPECT_EQ(a.report.coroutines, m.coroutines);
  EXPECT_EQ(t.abandoned, m.abandoned);
  EXPECT_EQ(t.unwound, m.unwound);
  EXPECT_EQ(t.unbalanced + t.inferred + t.bad_records + t.clock_anomalies + t.undescribed, 0u);
}

TEST(Model, AgreesOnRandomStreams) {
  constexpr uint64_t kSeeds = 3000;
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    auto events = model::generate(seed, 20 + seed % 400);
    auto text = model::to_text(events);
    compare(analyse(trace_text(text)), model::evaluate(events));
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
  }
}

// Anything goes: ids that do not exist, ends without beginnings, resumes of oneself.
// Records of every kind; %N is a number below N, @ the time, or a moment before.
const char* const kForms[] = {"entry %11",  "entry %11",       "entry %11",
                              "entry %11",  "return %11",      "return %11",
                              "tail %11",   "frame %11",       "resume %5",
                              "suspend %5", "create %5",       "unwind %4 top=%11",
                              "collect %5", "switch %5",       "stack %5 %6 n=%4",
                              "thread 9",   "loss %9 since=@", "ringblock co=%5 tid=7 rec=1"};

std::string fill(const char* form, uint64_t tick, std::mt19937_64& random) {
  std::string out;
  while (*form != '\0') {
    char* rest = nullptr;
    if (*form == '%')
      out += std::to_string(random() % std::strtoull(form + 1, &rest, 10));
    else if (*form == '@')
      out += std::to_string(tick - random() % 10);
    else
      out += *form;
    form = rest != nullptr ? rest : form + 1;
  }
  return out;
}

std::string nonsense(uint64_t seed, size_t length) {
  std::mt19937_64 random(seed);
  uint64_t tick = 1000;
  std::string out = random() % 2 ? "1000 start\n" : "";
  for (size_t i = 0; i < length; i++) {
    tick += random() % 20;
    if (random() % 50 == 0) tick -= std::min<uint64_t>(tick, random() % 30);
    const bool ends = random() % 72 == 0;
    out += std::to_string(tick) + ' ' +
           (ends ? random() % 2 ? "stop close" : "start"
                 : fill(kForms[random() % std::size(kForms)], tick, random)) +
           '\n';
    if (random() % 100 == 0)
      out += fill("block 1 seq=%9 base=", tick, random) + std::to_string(tick) +
             fill(" co=%4\n", tick, random);
  }
  return out;
}

TEST(Model, AnyStreamAddsUp) {
  for (uint64_t seed = 1; seed <= 3000; seed++) {
    auto text = nonsense(seed, seed % 200);
    auto a = analyse(trace_text(text));
    ASSERT_EQ(a.report.self_ns + a.report.idle_ns + a.report.gap_ns, a.report.traced_ns)
        << "seed " << seed << "\n"
        << text;
    auto inclusive = inclusive_ns(a.report.tree);
    ASSERT_EQ(inclusive[0], a.report.self_ns) << "seed " << seed;
    for (const auto& f : a.report.functions) {
      ASSERT_LE(f.self_ns, f.inclusive_ns) << "seed " << seed << ' ' << f.name;
      ASSERT_LE(f.inclusive_ns, f.wall_ns) << "seed " << seed << ' ' << f.name << '\n' << text;
    }
  }
}

}  // namespace
}  // namespace luatrace::analyze
