// SPDX-License-Identifier: MIT
// Packing a chart: the numbers of each kind of slice, and misplaced slices (chart_pack.h).
#include <gtest/gtest.h>

#include <stdexcept>

#include "analyzer/output/page/chart_pack.h"

using namespace luatrace::analyze;

namespace {

using Numbers = std::vector<uint64_t>;

Numbers decode(const std::vector<uint8_t>& bytes) {
  Numbers numbers;
  uint64_t value = 0;
  int shift = 0;
  for (uint8_t byte : bytes) {
    value |= uint64_t(byte & 127) << shift;
    shift += 7;
    if (byte >= 128) continue;
    numbers.push_back(value);
    value = 0, shift = 0;
  }
  return numbers;
}

FlameSlice slice(FlameSlice::Kind kind, uint32_t depth, uint32_t what, uint64_t begin,
                 uint64_t length) {
  FlameSlice s;
  s.kind = kind;
  s.depth = depth;
  s.what = what;
  s.begin_ns = begin;
  s.length_ns = length;
  s.self_ns = 500;
  s.suspended_ns = 20;
  s.calls = 3;
  return s;
}

FlameInput with_tracks(std::vector<std::vector<FlameSlice>> tracks) {
  FlameInput input;
  input.functions.resize(2);
  for (auto& slices : tracks) {
    FlameTrack& track = input.chart.tracks.emplace_back();
    track.begin_ns = slices.empty() ? 1000 : slices[0].begin_ns;
    track.slices = std::move(slices);
  }
  return input;
}

}  // namespace

TEST(ChartPack, EachKindHasItsNumbers) {
  const auto chart = page::pack_chart(with_tracks(
      {{slice(FlameSlice::kCall, 0, 1, 1000, 900), slice(FlameSlice::kShort, 1, 0, 1100, 100),
        slice(FlameSlice::kResumed, 1, 2, 1300, 200)},
       {slice(FlameSlice::kSuspended, 0, 0, 1400, 50),
        slice(FlameSlice::kFiltered, 0, 0, 1450, 5)}}));
  EXPECT_EQ(chart.origin_ns, 1000u);
  EXPECT_EQ(decode(chart.bytes), (Numbers{0, 5, 0,   900, 500, 20,  3,   // a call
                                          0, 0, 100, 100, 3,   500, 20,  // short calls
                                          1, 1, 200, 200, 2,             // a wait
                                          0, 2, 400, 50,                 // suspended
                                          1, 3, 50,  5}));               // filtered
}

TEST(ChartPack, RefusesMisplacedSlices) {
  auto refused = [](std::vector<FlameSlice> slices) {
    EXPECT_THROW(page::pack_chart(with_tracks({slices})), std::invalid_argument);
  };
  const FlameSlice outer = slice(FlameSlice::kCall, 0, 0, 1000, 100);
  refused({slice(FlameSlice::kCall, 0, 2, 1000, 100)});        // no such function
  refused({slice(FlameSlice::kResumed, 0, 2, 1000, 100)});     // no such track
  refused({slice(FlameSlice::kCall, 1, 0, 1000, 100)});        // no parent
  refused({outer, slice(FlameSlice::kCall, 1, 0, 1050, 51)});  // ends after its parent
  refused({outer, slice(FlameSlice::kCall, 0, 0, 999, 10)});   // begins before the previous
  page::pack_chart(with_tracks({{outer, slice(FlameSlice::kCall, 1, 0, 1050, 50)}}));
}

TEST(ChartPack, NoTracksMakeNoBytes) {
  EXPECT_TRUE(page::pack_chart({}).bytes.empty());
}
