// SPDX-License-Identifier: MIT
// Iterations that are multiplied have exactly the sums of their events: reports of the same traces
// by sinks that get each call, and by those that do not, byte by byte.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "analyzer/collect/bucketed_profile.h"
#include "analyzer/machine/streams.h"
#include "analyzer/read/trace_reader.h"
#include "segment_traces.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

uint64_t repeats = 0;

// What gets iterations one by one.
template <class Sink>
struct Singly : Sink {
  using Sink::Sink;
  bool takes_repeats() const { return false; }
};
template <class Sink>
struct Counted : Sink {
  using Sink::Sink;
  void repeated(uint32_t node, FunctionId function, uint64_t calls, uint64_t running) {
    repeats++;
    Sink::repeated(node, function, calls, running);
  }
};

// Everything that depends on the order of events only by what is summed up.
std::string text(const Report& r) {
  std::set<std::string> lines;
  for (const ReportFunction& f : r.functions)
    lines.insert(f.name + ' ' + std::to_string(f.line) + ' ' + std::to_string(f.segments->inside) +
                 ' ' + std::to_string(f.segments->inside_ns) + ' ' +
                 std::to_string(f.segments->apportioned_ns) + ' ' +
                 std::to_string(f.segments->self_apportioned_ns) + '\n');
  for (const ReportCoroutine& c : r.coroutine_list)
    lines.insert("co " + std::to_string(c.vm) + ' ' + std::to_string(c.id) + ' ' +
                 std::to_string(c.calls) + ' ' + std::to_string(c.self_ns) + ' ' +
                 std::to_string(c.running_ns) + ' ' + std::to_string(c.suspended_ns) + '\n');
  std::string out = saved(r);
  for (const std::string& line : lines) out += line;
  return out;
}

template <class Sink, class... Arguments>
std::string sums(const std::vector<uint8_t>& bytes, const Arguments&... arguments) {
  Diagnostics diag("test.bin", [](const std::string&) {});
  TraceFacts facts;
  Sink sink(arguments...);
  Streams<Sink> streams(facts, sink, diag);
  Input input("test.bin", bytes);
  read_trace(input, diag, streams);
  streams.finish();
  FileResult result{"test.bin", facts, sink, nullptr, nullptr, diag.trust, 1};
  FileBuckets buckets;
  if constexpr (requires { sink.histograms(); }) result.histograms = &sink.histograms();
  if constexpr (requires { sink.take_buckets(); }) {
    buckets = sink.take_buckets();
    result.buckets = &buckets;
  }
  Report report;
  add_to_report(report, result, [](const Function&) { return Symbol{}; });
  return text(report);
}

template <class Sink, class... Arguments>
void expect_same(uint64_t count, const std::string& clock, const Arguments&... arguments) {
  repeats = 0;
  for (uint64_t seed = 1; seed <= seeds(1) * count; seed++) {
    const auto bytes = to_binary(segment_trace(seed, clock));
    ASSERT_EQ(sums<Counted<Sink>>(bytes, arguments...), sums<Singly<Sink>>(bytes, arguments...))
        << "seed " << seed;
  }
  EXPECT_GT(repeats, count);
}

TEST(Repeats, MultipliedAreTheirEvents) {
  expect_same<Profile>(400, "mult=3 shift=1");
}

TEST(Repeats, WithHistograms) {
  expect_same<HistogramProfile>(200, "mult=3 shift=1");
}

// A bucket has some dozen events.
TEST(Repeats, InTimeBuckets) {
  const std::string clock = "mult=9600000013 shift=3 start=3 real=1700000000000000000";
  expect_same<BucketedProfile>(300, clock, uint64_t{600} * 1000000000, "test.bin");
}

// Saved profiles have all of it, and merge in any order; with time buckets, too.
TEST(Repeats, InSavedProfiles) {
  const std::string clock = "mult=9600000013 shift=3 start=3 real=1700000000000000000";
  for (uint64_t seed = 1; seed <= seeds(1) * 40; seed++) {
    PipelineOptions options;
    options.histograms = true;
    if (seed % 2) options.bucket_ns = uint64_t{600} * 1000000000;
    options.keeps_buckets = seed % 2;
    const auto read = [&](const std::vector<FileBytes>& files) {
      return report_of(files, options);
    };
    const FileBytes a = file_bytes("a", segment_trace(seed, clock));
    const FileBytes b = file_bytes("b", segment_trace(seed + 1, clock));
    const std::string first = saved(read({a})), second = saved(read({b}));
    const FileBytes p = file_bytes("p", first), q = file_bytes("q", second);
    const std::string whole = text(read({a, b}));
    ASSERT_EQ(saved(read({p})), first) << "seed " << seed;
    ASSERT_EQ(text(read({p, q})), whole) << "seed " << seed;
    ASSERT_EQ(text(read({q, p})), whole) << "seed " << seed;
  }
}

// With filters, groups, ranges of time, and the lives of coroutines.
TEST(Repeats, OfWhatIsLeftByFilters) {
  for (uint64_t seed = 1; seed <= seeds(1) * 500; seed++) {
    const auto bytes = to_binary(segment_trace(seed % 97));
    Wish wish = random_wish(seed);
    if (seed % 4 == 1) wish = {};  // With filters there is often nothing to be multiplied.
    if (seed % 4 == 1) wish.limit = 100;
    wish.coroutines = seed % 2;
    wish.observer = Wish::Observer::kEmpty;
    const std::string singly = text(report_of(bytes, wish, 0));
    wish.observer = Wish::Observer::kNone;
    ASSERT_EQ(text(report_of(bytes, wish, seed % 7 ? 0 : 3)), singly)
        << "seed " << seed << describe(wish);
  }
}

}  // namespace
}  // namespace luatrace::analyze
