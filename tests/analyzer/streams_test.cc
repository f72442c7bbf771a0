// SPDX-License-Identifier: MIT
// Several threads for the streams of one trace: the same bytes come out as from one thread, for
// sound traces and for damaged ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <sstream>

#include "analyzer/aggregate/preview.h"
#include "analyzer/aggregate/saved_profile.h"
#include "analyzer/decode/trace_reader.h"
#include "analyzer/render/folded.h"
#include "analyzer/render/json.h"
#include "analyzer/render/views.h"
#include "analyzer/stacks/parallel_streams.h"
#include "parts.h"
#include "support.h"

namespace luatrace {
namespace {

// Everything that is printed of a trace, and the messages.
struct Output {
  std::string profile, folded, json, messages;
  bool operator==(const Output&) const = default;
};

const SymbolFinder no_symbols = [](const Function&) { return Symbol{}; };

// filtered: the same as `profile`, if it is one.
Output output(const TraceFacts& facts, const HistogramProfile& profile,
              const FilteredProfile* filtered, const Diagnostics& diag, std::string messages) {
  Report report;
  add_to_report(report,
                {"test.bin", facts, profile, &profile.histograms(), filtered, diag.trust, 1},
                no_symbols);
  ViewOptions views;
  if (filtered) {
    views.report = views.tree = views.coroutines = views.threads = views.timeline = true;
    views.info = true;
    views.slow = {"*"};
    sum_up_groups(report);
  }
  std::ostringstream saved, folded, json;
  write_profile(saved, report);
  write_folded(folded, report, 1);
  write_json(json, report, make_views(report, views));
  return {saved.str(), folded.str(), json.str(), std::move(messages)};
}

// workers: 0: not at all parallel.
Output run(const std::vector<uint8_t>& bytes, size_t workers) {
  std::string messages;
  Diagnostics diag("test.bin", [&](const std::string& m) { messages += m + '\n'; });
  TraceFacts facts;
  Input input("test.bin", bytes);
  if (workers == 0) {
    HistogramProfile profile;
    Streams<HistogramProfile> streams(facts, profile, diag);
    read_trace(input, diag, streams);
    streams.finish();
    return output(facts, profile, nullptr, diag, messages);
  }
  auto make = [](const TraceFacts&) { return std::make_unique<HistogramProfile>(); };
  ParallelStreams<HistogramProfile> streams(facts, diag, workers, make);
  auto profile = streams.read(input);
  return output(facts, *profile, nullptr, diag, messages);
}

// What is asked for: filters, groups, and the views that follow single calls.
struct Wish {
  FilterOptions filter;
  uint64_t from = 0, to = UINT64_MAX, least_ns = 0;
  bool wall = false;
  size_t most = 0;  // Slow calls and coroutines.
};

// Everything in it is of the seed; names are those of random_trace().
Wish random_wish(uint64_t seed) {
  static const char* const kNames[] = {"n0", "n1", "n?", "x.lua:3", "/n[12]/", "x.lua:?", "*"};
  std::mt19937_64 random(seed);
  auto pick = [&](uint64_t n) { return random() % n; };
  Wish w;
  FilterOptions& f = w.filter;
  for (auto* list : {&f.only, &f.without, &f.callers, &f.hide, &f.functions})
    if (pick(4) == 0) *list = {kNames[pick(7)]};
  if (pick(6) == 0) f.kinds = {pick(2) ? "lua" : "c"};
  if (pick(4) == 0) f.depth = 1 + static_cast<uint32_t>(pick(4));
  if (pick(3) == 0) f.least_ns = 1 + pick(200);
  if (pick(6) == 0) f.threads = {71, 70 + static_cast<uint32_t>(pick(9))};
  if (pick(6) == 0) f.states = {1 + static_cast<uint32_t>(pick(3))};
  if (pick(6) == 0) f.coroutines = {{0, 1 + static_cast<uint32_t>(pick(3))}};
  if (pick(4) == 0) w.from = 1000 + pick(3000), w.to = w.from + pick(9000);
  f.mode = static_cast<CoroutineMode>(pick(3));
  f.group = static_cast<GroupBy>(pick(6));
  f.group_pattern = "x.(l)ua";
  w.least_ns = pick(3) ? 0 : pick(100);
  w.wall = pick(2);
  w.most = pick(3) ? 1 + pick(6) : 0;
  return w;
}

struct Watching {
  explicit Watching(const Wish& w)
      : slow(w.least_ns, w.wall, w.most), coroutines(CoroutineLog::By::kSuspended, w.most) {}
  SlowCalls slow;
  CoroutineLog coroutines;
  Timeline timeline;
  ThreadLog threads;
};

// As run(), with filters and all that follows single calls.
Output run_filtered(const std::vector<uint8_t>& bytes, const Wish& wish, size_t workers) {
  std::string messages;
  Diagnostics diag("test.bin", [&](const std::string& m) { messages += m + '\n'; });
  TraceFacts facts;
  Input first("test.bin", bytes), input("test.bin", bytes);
  Preview preview;
  preview.read(first);
  FilterPlan plan{&wish.filter, wish.from, wish.to, FunctionPatterns({"*"}), &preview.functions};
  std::deque<Watching> watching;
  auto make = [&](const TraceFacts& mine) {
    auto sink = std::make_unique<FilteredProfile>(plan, mine, facts.functions, no_symbols);
    Watching& w = watching.emplace_back(wish);
    sink->slow = &w.slow;
    sink->coroutines = &w.coroutines;
    sink->timeline = &w.timeline;
    sink->threads = &w.threads;
    return sink;
  };
  if (workers == 0) {
    auto profile = make(facts);
    Streams<FilteredProfile> streams(facts, *profile, diag);
    read_trace(input, diag, streams);
    streams.finish();
    return output(facts, *profile, profile.get(), diag, messages);
  }
  ParallelStreams<FilteredProfile> streams(facts, diag, workers, make);
  auto profile = streams.read(input);
  return output(facts, *profile, profile.get(), diag, messages);
}

// Streams that share functions (with other ids and names), with coroutines, errors and losses.
std::string random_trace(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](uint64_t n) { return random() % n; };
  std::ostringstream out;
  out << "#luatrace-text 1\nclock monotonic mult=3 shift=1\nprocess 1 pid=7 exe=\"/x\"\n";
  const uint64_t streams = 1 + pick(5);
  std::vector<uint64_t> tick(streams + 1, 1000);
  for (uint64_t s = 1; s <= streams; s++)
    out << "stream " << s << " process=1 tid=" << 70 + s << " recording=1\n";
  for (uint64_t i = 0; i < 40 * streams; i++) {
    const uint64_t s = 1 + pick(streams);
    if (pick(2))
      out << "func " << s << ':' << 1 + pick(30) << " lua line=" << pick(12)
          << " chunk=\"@x.lua\" name=\"n" << pick(3) << "\"\n";
    if (pick(6) == 0) out << "func " << s << ':' << 1 + pick(30) << " c addr=0x" << pick(4) << '\n';
    for (uint64_t n = pick(30); n > 0; n--) {
      out << (tick[s] += pick(50)) << ' ' << s << ' ';
      switch (pick(12)) {
        case 0:
          out << "resume " << 1 + pick(4);
          break;
        case 1:
          out << "suspend yield";
          break;
        case 2:
          out << "unwind " << 1 + pick(3) << " top=-";
          break;
        case 3:
          out << "thread " << 70 + pick(9);
          break;
        case 4:
          out << "tail " << 1 + pick(30);
          break;
        case 5:
          out << "loss " << pick(9) << " since=" << tick[s];
          break;
        case 6:
        case 7:
          out << "return " << 1 + pick(30);
          break;
        default:
          out << "entry " << 1 + pick(30);
          break;
      }
      out << '\n';
    }
  }
  out << "end exit=0\n";
  return out.str();
}

std::string first_difference(const std::string& a, const std::string& b) {
  const size_t at = static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
  const size_t from = at < 100 ? 0 : at - 100;
  return a.substr(from, 200) + "\n--- is not\n" + b.substr(from, 200);
}

// `run`: from a number of workers to an Output.
template <class Run>
void expect_equal(Run run, const std::string& what) {
  const Output one = run(0);
  for (size_t workers : {1u, 2u, 3u}) {
    const Output many = run(workers);
    ASSERT_EQ(many.folded, one.folded) << what << ", workers " << workers;
    ASSERT_TRUE(many.json == one.json)
        << what << ", workers " << workers << ": " << first_difference(many.json, one.json);
    ASSERT_TRUE(many.profile == one.profile) << what << ", workers " << workers;
    ASSERT_EQ(many.messages, one.messages) << what << ", workers " << workers;
  }
}

TEST(ParallelStreams, TheSameFromRandomTraces) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    const auto bytes = to_binary(random_trace(seed));
    expect_equal([&](size_t n) { return run(bytes, n); }, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

std::vector<uint8_t> damaged_trace(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto bytes = to_binary(random_trace(seed));
  for (int i = 0; i < 6; i++)
    bytes[sizeof(lt_file_header) + random() % (bytes.size() - sizeof(lt_file_header))] ^=
        static_cast<uint8_t>(1 + random() % 255);
  if (random() % 3 == 0) bytes.resize(bytes.size() - random() % (bytes.size() / 2));
  return bytes;
}

TEST(ParallelStreams, TheSameFromDamagedTraces) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    const auto bytes = damaged_trace(seed);
    expect_equal([&](size_t n) { return run(bytes, n); }, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(ParallelStreams, TheSameWithFiltersGroupsAndViewsOfSingleCalls) {
  for (uint64_t seed = 1; seed <= 400; seed++) {
    const auto bytes = seed % 3 ? to_binary(random_trace(seed)) : damaged_trace(seed);
    const Wish wish = random_wish(seed);
    expect_equal([&](size_t n) { return run_filtered(bytes, wish, n); },
                 "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

// Compressed blocks of some streams, in whatever order, some of which cannot be undone, and more of
// one stream than may wait for its worker.
Parts packed_trace(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::ostringstream out;
  out << "#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7 exe=\"/x\"\n";
  for (int s = 1; s <= 3; s++) {
    out << "stream " << s << " process=1 tid=" << 70 + s << " recording=1\n";
    for (int f = 1; f <= 9; f++)
      out << "func " << s << ':' << f << " lua line=" << 10 * f << " chunk=\"@x.lua\"\n";
  }
  uint64_t tick = 1000, sequence[4] = {};
  for (int b = 0; b < 150; b++) {
    const uint64_t s = b < 60 ? 1 : 1 + random() % 3;
    out << "block " << s << " seq=" << sequence[s]++ << " base=" << tick << '\n';
    for (int i = 0; i < 100; i++) {
      out << (tick += random() % 50) << ' ' << s << " entry " << 1 + random() % 9 << '\n';
      if (random() % 3) out << (tick += 9) << ' ' << s << " return " << 1 + random() % 9 << '\n';
    }
  }
  out << "end exit=0\n";
  Parts parts = packed_parts(out.str());
  for (auto& [block, payload] : parts.blocks)
    if (block.type == LT_BLOCK_EVENTS && random() % 20 == 0) payload.resize(payload.size() / 2);
  return parts;
}

TEST(ParallelStreams, TheSameFromPackedTraces) {
  for (uint64_t seed = 1; seed <= 30; seed++) {
    const auto bytes = join(packed_trace(seed));
    expect_equal([&](size_t n) { return run(bytes, n); }, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

// What goes wrong in a worker comes out in finish(), and nobody waits for it for ever.
TEST(ParallelStreams, AnErrorInAWorkerIsNotLost) {
  struct Failing : HistogramProfile {
    uint32_t enter(uint32_t, uint32_t) { throw std::length_error("full"); }
    void add(const Failing&) {}
  };
  Diagnostics diag("test.bin", [](const std::string&) {});
  TraceFacts facts;
  auto make = [](const TraceFacts&) { return std::make_unique<Failing>(); };
  ParallelStreams<Failing> streams(facts, diag, 2, make);
  Input input("test.bin", to_binary(random_trace(1)));
  EXPECT_THROW(streams.read(input), std::length_error);
}

}  // namespace
}  // namespace luatrace
