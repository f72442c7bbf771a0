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

// -- Recordings of one Lua VM, with pauses between them --

// Two streams, the first of which ends by `stop`; the second is described by `second`.
std::string two_recordings(const std::string& stop, const std::string& second) {
  return "#luatrace-text 1\nclock monotonic mult=1 shift=0\n"
         "process 1 pid=7 exe=\"luajit\" cmd=\"luajit\"\n"
         "process 2 pid=8 exe=\"luajit\" cmd=\"luajit\"\n"
         "stream 1 process=1 tid=7 state=0x1000 recording=1 luajit=\"LuaJIT 2.1\"\n"
         "stream 2 " +
         second +
         " luajit=\"LuaJIT 2.1\"\n"
         "func 1:1 lua line=10 chunk=\"@x.lua\" name=\"f1\"\n"
         "0 1 start\n0 1 stack 1 activate n=1\n0 1 frame 1\n10 1 create 2\n10 1 resume 2\n"
         "10 1 entry 1\n20 1 suspend yield\n30 1 stop " +
         stop +
         "\n"
         "func 2:1 lua line=20 chunk=\"@x.lua\" name=\"f2\"\n"
         "1000 2 start\n1000 2 stack 1 activate n=0\n1005 2 stack 2 resumed n=1\n1005 2 frame 1\n"
         "1040 2 return 1\n1050 2 stop close\nend exit=0\n";
}

struct Recordings {
  size_t vms = 0;
  uint64_t coroutines = 0, traced = 0, suspended = 0;
  bool operator==(const Recordings&) const = default;
};

Recordings recordings(const std::string& text, size_t workers) {
  const auto bytes = to_binary(text);
  Diagnostics diag("test.bin", [](const std::string&) {});
  TraceFacts facts;
  Input input("test.bin", bytes);
  auto make = [](const TraceFacts&) { return std::make_unique<HistogramProfile>(); };
  auto profile = read_streams<HistogramProfile>(input, facts, diag, workers, make);
  Recordings out{facts.streams.size()};
  for (const StreamSums& s : facts.sums) out.coroutines += s.coroutines, out.traced += s.traced;
  for (uint32_t i = 0; i < profile->tree().size(); i++) out.suspended += profile->suspended_at(i);
  EXPECT_EQ(diag.trust.missing_blocks + diag.trust.unbalanced + diag.trust.undescribed, 0u);
  return out;
}

TEST(Streams, ThatContinueARecordingJoinIt) {
  const std::string same = "process=1 tid=7 state=0x1000 recording=2";
  for (const size_t workers : {1, 2, 3}) {
    // The coroutine was suspended for 10 before the pause; of the pause nothing is known.
    const Recordings one{1, 2, 80, 10};
    EXPECT_EQ(recordings(two_recordings("detach", same), workers), one);
    const Recordings two{2, 4, 80, 10};
    EXPECT_EQ(recordings(two_recordings("close", same), workers), two);
    for (const char* other :
         {"process=1 tid=7 state=0x1000 recording=1", "process=1 tid=7 state=0x1000 recording=3",
          "process=1 tid=7 state=0x2000 recording=2", "process=2 tid=8 state=0x1000 recording=2"})
      EXPECT_EQ(recordings(two_recordings("detach", other), workers), two) << other;
  }
}

// Function ids are those of a recording.
TEST(Streams, ThatJoinHaveTheirOwnFunctions) {
  const Report report = report_of(
      to_binary(two_recordings("detach", "process=1 tid=7 state=0x1000 recording=2")), {}, 1);
  std::set<std::string> names;
  for (const ReportFunction& f : report.functions) names.insert(f.name);
  EXPECT_TRUE(names.contains("f1"));
  EXPECT_TRUE(names.contains("f2"));
}

}  // namespace
}  // namespace luatrace::analyze
