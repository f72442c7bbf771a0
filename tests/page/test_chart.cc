// SPDX-License-Identifier: MIT
// The limit of the chart (analyzer/output/formats/chart.h): random calls of coroutines, written
// with limits of all sizes. For each the hidden calls must be counted, and the longest calls be
// kept.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "analyzer/output/formats/chart.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/output/page/chart_pack.h"

using namespace luatrace::analyze;

namespace {

const TrackNames kNames{std::make_shared<std::string>("program"), false};

struct Sums {
  uint64_t calls = 0, self_ns = 0, longest = 0;
  std::vector<uint64_t> lengths;                     // Of calls.
  std::map<std::string, uint64_t> suspended, lives;  // By track.
};

// One coroutine after the other makes random calls, returns and yields.
class Program {
 public:
  Program(CallWriter& writer, uint64_t seed) : writer_(writer), random_(seed) {}

  void run(uint64_t tracks, int steps) {
    for (uint64_t number = 1; number <= tracks; number++) {
      Track track;
      track.number = number;
      track.coroutine = CoroutineId(static_cast<uint32_t>(number));
      writer_.track(track, kNames);
      const uint64_t begin = now_;
      begin_call(track);
      for (int i = 0; i < steps; i++) step(track);
      while (!open_.empty()) end_call(track);
      sums.lives[track_name(track, false)] = now_ - begin;
      if (number % 2) writer_.leave(track);
    }
  }

  Sums sums;

 private:
  struct Open {
    uint64_t begin = 0, self = 0, suspended = 0;
  };
  // Mostly short, sometimes very long.
  uint64_t wait() { return random_() % (random_() % 50 == 0 ? 100000 : 40); }
  void pass(uint64_t ns) {
    now_ += ns;
    open_.back().self += ns;
  }
  void begin_call(const Track& track) {
    Slice slice;
    slice.function = SliceFunctionId(1);
    writer_.begin(track, slice, now_);
    open_.push_back({now_, 0, 0});
  }
  void end_call(const Track& track) {
    pass(wait());
    const Open call = open_.back();
    open_.pop_back();
    const uint64_t length = now_ - call.begin;
    writer_.end(track, now_, {length - call.suspended, call.self});
    if (!open_.empty()) open_.back().suspended += call.suspended;
    sums.calls++;
    sums.self_ns += call.self;
    sums.lengths.push_back(length);
  }
  void yield(const Track& track) {
    Slice slice;
    slice.kind = Slice::kSuspended;
    writer_.begin(track, slice, now_);
    const uint64_t ns = wait();
    now_ += ns;
    writer_.end(track, now_, {});
    open_.back().suspended += ns;
    sums.suspended[track_name(track, false)] += ns;
  }
  void step(const Track& track) {
    pass(wait());
    const uint64_t what = random_() % 8;
    if (what < 4 && open_.size() < 30)
      begin_call(track);
    else if (what < 7 && open_.size() > 1)
      end_call(track);
    else
      yield(track);
  }

  CallWriter& writer_;
  std::mt19937_64 random_;
  std::vector<Open> open_;
  uint64_t now_ = 1000000;
};

struct Made {
  FlameChart chart;
  Sums sums;
  std::vector<FlameSlice> calls, blocks;
};

Made make(size_t limit, uint64_t seed, uint64_t tracks = 40, int steps = 400) {
  ChartWriter writer(limit);
  Program program(writer, seed);
  program.run(tracks, steps);
  writer.end_file(0);
  Made made{writer.take(), program.sums, {}, {}};
  for (const FlameTrack& track : made.chart.tracks)
    for (const FlameSlice& slice : track.slices) {
      if (slice.kind == FlameSlice::kCall) made.calls.push_back(slice);
      if (slice.kind == FlameSlice::kShort) made.blocks.push_back(slice);
    }
  return made;
}

size_t count(const Made& made) {
  size_t n = 0;
  for (const FlameTrack& track : made.chart.tracks) n += track.slices.size();
  return n;
}

class ChartLimit : public testing::TestWithParam<size_t> {};

}  // namespace

TEST_P(ChartLimit, HoldsAndCountsHiddenCalls) {
  for (uint64_t seed = 1; seed <= 8; seed++) {
    const Made made = make(GetParam(), seed);
    const FlameChart& chart = made.chart;
    if (GetParam()) {
      EXPECT_LE(count(made), GetParam()) << "seed " << seed;
    }
    EXPECT_EQ(chart.calls, made.sums.calls);
    EXPECT_EQ(chart.self_ns, made.sums.self_ns);
    uint64_t self = 0, in_blocks = 0;
    for (const FlameSlice& call : made.calls) self += call.self_ns;
    EXPECT_EQ(chart.hidden_calls, chart.calls - made.calls.size());
    EXPECT_EQ(chart.hidden_ns, chart.self_ns - self);
    // Each hidden call is in a block or counted by the call around it; those of hidden tracks, and
    // single outermost ones, are only in the sum.
    for (const FlameSlice& block : made.blocks) in_blocks += block.calls;
    for (const FlameSlice& call : made.calls) in_blocks += call.calls;
    EXPECT_LE(in_blocks, chart.hidden_calls) << "seed " << seed;
    if (GetParam() == 0) {
      EXPECT_EQ(in_blocks, chart.hidden_calls) << "seed " << seed;
    }
  }
}

TEST_P(ChartLimit, KeepsExactlyTheLongCalls) {
  const Made made = make(GetParam(), 5);
  uint64_t longer = 0;
  for (uint64_t length : made.sums.lengths) longer += length >= made.chart.shortest_ns;
  EXPECT_EQ(made.calls.size(), longer);
  for (const FlameSlice& call : made.calls) EXPECT_GE(call.length_ns, made.chart.shortest_ns);
  for (const FlameSlice& block : made.blocks) EXPECT_GE(block.length_ns, made.chart.shortest_ns);
}

TEST_P(ChartLimit, SlicesAreNested) {
  for (uint64_t seed = 1; seed <= 8; seed++) {
    FlameInput input;
    input.functions.resize(2);
    input.chart = make(GetParam(), seed).chart;
    EXPECT_NO_THROW(page::pack_chart(input)) << "seed " << seed;
    for (const FlameTrack& track : input.chart.tracks) {
      std::map<uint32_t, uint64_t> ends;  // By depth.
      for (const FlameSlice& slice : track.slices) {
        EXPECT_GE(slice.begin_ns, ends[slice.depth]) << "seed " << seed;
        ends[slice.depth] = slice.begin_ns + slice.length_ns;
      }
    }
  }
}

TEST_P(ChartLimit, SumsOfTracksAreExact) {
  Made made = make(GetParam(), 3);
  for (const FlameTrack& track : made.chart.tracks) {
    EXPECT_EQ(track.suspended_ns, made.sums.suspended[track.name]) << track.name;
    EXPECT_EQ(track.end_ns - track.begin_ns, made.sums.lives[track.name]) << track.name;
  }
  if (GetParam() == 0) {
    EXPECT_EQ(made.chart.tracks.size(), 40u);
  }
  EXPECT_EQ(made.chart.tracks.size() + made.chart.hidden_tracks, 40u);
}

INSTANTIATE_TEST_SUITE_P(Limits, ChartLimit, testing::Values(0, 1, 7, 60, 500, 4000, 100000));

TEST(Chart, ShortCallsInARowAreOneBlock) {
  ChartWriter writer(20);
  Track track;
  track.number = 1;
  writer.track(track, kNames);
  writer.begin(track, {Slice::kCall, SliceFunctionId(1), {}}, 0);
  for (uint64_t i = 0; i < 1000; i++) {
    writer.begin(track, {Slice::kCall, SliceFunctionId(1), {}}, 1000 + 10 * i);
    writer.end(track, 1000 + 10 * i + 9, {9, 9});
  }
  writer.end(track, 20000, {20000, 11000});
  const FlameChart chart = writer.take();
  ASSERT_EQ(chart.tracks.size(), 1u);
  const auto& slices = chart.tracks[0].slices;
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].kind, FlameSlice::kShort);
  EXPECT_EQ(slices[1].calls, 1000u);
  EXPECT_EQ(slices[1].self_ns, 9000u);
  EXPECT_EQ(slices[1].begin_ns, 1000u);
  EXPECT_EQ(slices[1].length_ns, 9999u);
  EXPECT_EQ(chart.hidden_calls, 1000u);
}

TEST(Chart, CountsResumesAndNamesTheResumer) {
  ChartWriter writer(0);
  Track one, two;
  one.number = 1, one.coroutine = CoroutineId(4);
  two.number = 2, two.coroutine = CoroutineId(7);
  writer.track(one, kNames);
  writer.begin(one, {Slice::kCall, SliceFunctionId(1), {}}, 0);
  writer.track(two, kNames);
  writer.begin(two, {Slice::kCall, SliceFunctionId(1), {}}, 10);
  for (uint64_t at : {10, 50}) {
    writer.begin(one, {Slice::kResumed, {}, CoroutineId(7), 0, two.number}, at);
    writer.end(one, at + 20, {});
  }
  writer.end(two, 70, {60, 60});
  writer.leave(two);
  writer.end(one, 100, {100, 60});
  const FlameChart chart = writer.take();
  ASSERT_EQ(chart.tracks.size(), 2u);
  EXPECT_EQ(chart.tracks[1].resumes, 2u);
  EXPECT_EQ(chart.tracks[1].resumer, 1u) << "index of the first track, plus one";
  EXPECT_EQ(chart.tracks[0].resumer, 0u);
  EXPECT_EQ(chart.tracks[0].waiting_ns, 40u);
  EXPECT_EQ(chart.tracks[0].slices[1].what, 2u);
}

TEST(Chart, FilesOfOtherTimesAreAligned) {
  auto file = [](ChartWriter& writer, uint64_t number, uint64_t begin) {
    Track track;
    track.number = number;
    writer.track(track, kNames);
    writer.begin(track, {Slice::kCall, SliceFunctionId(1), {}}, begin);
    writer.end(track, begin + 100, {100, 100});
    writer.end_file(0);
  };
  ChartWriter far(0), near(0);
  file(far, 1, 1000), file(far, 2, 900000);
  const FlameChart apart = far.take();
  EXPECT_EQ(apart.tracks[1].begin_ns, 0u);
  EXPECT_EQ(apart.tracks[1].slices[0].begin_ns, 0u);
  EXPECT_FALSE(apart.note.empty());
  file(near, 1, 1000), file(near, 2, 1050);
  const FlameChart together = near.take();
  EXPECT_EQ(together.tracks[1].begin_ns, 1050u);
  EXPECT_TRUE(together.note.empty());
}
