// SPDX-License-Identifier: MIT
// Several threads for the streams of one trace: the same bytes come out as from one thread, for
// sound traces and for damaged ones.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "analyzer/aggregate/saved_profile.h"
#include "analyzer/decode/trace_reader.h"
#include "analyzer/render/folded.h"
#include "analyzer/render/json.h"
#include "analyzer/stacks/parallel_streams.h"
#include "support.h"

namespace luatrace {
namespace {

// Everything that is printed of a trace, and the messages.
struct Output {
  std::string profile, folded, json, messages;
  bool operator==(const Output&) const = default;
};

Output output(const TraceFacts& facts, const HistogramProfile& profile, const Diagnostics& diag,
              std::string messages) {
  Report report;
  add_to_report(report, {"test.bin", facts, profile, &profile.histograms(), nullptr, diag.trust, 1},
                [](const Function&) { return Symbol{}; });
  std::ostringstream saved, folded, json;
  write_profile(saved, report);
  write_folded(folded, report, 1);
  write_json(json, report, {});
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
    return output(facts, profile, diag, messages);
  }
  auto make = [] { return std::make_unique<HistogramProfile>(); };
  ParallelStreams<HistogramProfile> streams(facts, diag, workers, make);
  read_trace(input, diag, streams);
  auto profile = streams.finish();
  return output(facts, *profile, diag, messages);
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

void expect_equal(const std::vector<uint8_t>& bytes, const std::string& what) {
  const Output one = run(bytes, 0);
  for (size_t workers : {1u, 2u, 3u}) {
    const Output many = run(bytes, workers);
    ASSERT_EQ(many.folded, one.folded) << what << ", workers " << workers;
    ASSERT_EQ(many.json, one.json) << what << ", workers " << workers;
    ASSERT_TRUE(many.profile == one.profile) << what << ", workers " << workers;
    ASSERT_EQ(many.messages, one.messages) << what << ", workers " << workers;
  }
}

TEST(ParallelStreams, TheSameFromRandomTraces) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    expect_equal(to_binary(random_trace(seed)), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(ParallelStreams, TheSameFromDamagedTraces) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    std::mt19937_64 random(seed);
    auto bytes = to_binary(random_trace(seed));
    for (int i = 0; i < 6; i++)
      bytes[sizeof(lt_file_header) + random() % (bytes.size() - sizeof(lt_file_header))] ^=
          static_cast<uint8_t>(1 + random() % 255);
    if (random() % 3 == 0) bytes.resize(bytes.size() - random() % (bytes.size() / 2));
    expect_equal(bytes, "seed " + std::to_string(seed));
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
  auto make = [] { return std::make_unique<Failing>(); };
  ParallelStreams<Failing> streams(facts, diag, 2, make);
  Input input("test.bin", to_binary(random_trace(1)));
  read_trace(input, diag, streams);
  EXPECT_THROW(streams.finish(), std::length_error);
}

}  // namespace
}  // namespace luatrace
