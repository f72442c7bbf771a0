// SPDX-License-Identifier: MIT
// Several threads for the streams of one trace: the output is the same as with one thread, for
// undamaged traces and for damaged ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "analyzer/machine/parallel_streams.h"
#include "analyzer/output/folded.h"
#include "analyzer/output/json.h"
#include "analyzer/output/views.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/saved_profile.h"
#include "parts.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

// Everything that is printed of a trace, and the messages.
struct Output {
  std::string profile, folded, json, messages;
  bool operator==(const Output&) const = default;
};

const SymbolFinder no_symbols = [](const Function&) { return Symbol{}; };

Output output(const Report& report, const ViewOptions& views, std::string messages) {
  std::ostringstream saved, folded, json;
  write_profile(saved, report);
  write_folded(folded, report, 1);
  write_json(json, report, make_views(report, views));
  return {saved.str(), folded.str(), json.str(), std::move(messages)};
}

Output output(const TraceFacts& facts, const HistogramProfile& profile, const Diagnostics& diag,
              std::string messages) {
  Report report;
  add_to_report(report, {"test.bin", facts, profile, &profile.histograms(), nullptr, diag.trust, 1},
                no_symbols);
  return output(report, {}, std::move(messages));
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
    return output(facts, profile, diag, messages);
  }
  auto make = [](const TraceFacts&) { return std::make_unique<HistogramProfile>(); };
  ParallelStreams<HistogramProfile> streams(facts, diag, workers, make);
  auto profile = streams.read(input);
  return output(facts, *profile, diag, messages);
}

// As run(), with filters and all that follows single calls.
Output run_filtered(const std::vector<uint8_t>& bytes, const Wish& wish, size_t workers) {
  std::string messages;
  const Report report = report_of(bytes, wish, workers, &messages);
  ViewOptions views;
  views.report = views.tree = views.coroutines = views.threads = views.timeline = true;
  views.info = true;
  views.slow = {"*"};
  views.limit = 0, views.limit_given = true;
  return output(report, views, messages);
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
  for (size_t workers : {1u, 2u, 3u, 4u}) {
    const Output many = run(workers);
    ASSERT_EQ(many.folded, one.folded) << what << ", workers " << workers;
    ASSERT_TRUE(many.json == one.json)
        << what << ", workers " << workers << ": " << first_difference(many.json, one.json);
    ASSERT_TRUE(many.profile == one.profile) << what << ", workers " << workers;
    ASSERT_EQ(many.messages, one.messages) << what << ", workers " << workers;
  }
}

TEST(ParallelStreams, TheSameFromRandomTraces) {
  for (uint64_t seed = 1; seed <= seeds(300); seed++) {
    const auto bytes = to_binary(random_trace(seed));
    expect_equal([&](size_t n) { return run(bytes, n); }, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(ParallelStreams, TheSameFromDamagedTraces) {
  for (uint64_t seed = 1; seed <= seeds(300); seed++) {
    const auto bytes = damaged_trace(seed);
    expect_equal([&](size_t n) { return run(bytes, n); }, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(ParallelStreams, TheSameWithFiltersGroupsAndViewsOfSingleCalls) {
  for (uint64_t seed = 1; seed <= seeds(400); seed++) {
    const auto bytes = seed % 3 ? to_binary(random_trace(seed)) : damaged_trace(seed);
    const Wish wish = random_wish(seed);
    expect_equal([&](size_t n) { return run_filtered(bytes, wish, n); },
                 "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

// Compressed blocks of several streams in any order, some of which cannot be decompressed, and more
// of one stream than may wait for its worker.
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

// An exception in a worker is thrown by read(), and no thread waits for ever.
TEST(ParallelStreams, AnErrorInAWorkerIsNotLost) {
  struct Failing : HistogramProfile {
    using HistogramProfile::enter;
    uint32_t enter(uint32_t, FunctionId) { throw std::length_error("full"); }
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
}  // namespace luatrace::analyze
