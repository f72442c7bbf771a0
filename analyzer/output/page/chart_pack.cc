// SPDX-License-Identifier: MIT
#include "analyzer/output/page/chart_pack.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/leb128.h"

namespace luatrace::analyze::page {
namespace {

// Encodes the slices of one track and checks that each lies within its parents.
class TrackEncoder {
 public:
  TrackEncoder(const FlameInput& input, std::vector<uint8_t>& bytes, uint64_t origin, size_t track)
      : input_(input), bytes_(bytes), last_(origin), track_(track) {}

  void add(const FlameSlice& slice) {
    check(slice);
    number(ends_.size() - slice.depth);
    ends_.resize(slice.depth);
    number(code_of(slice));
    number(slice.begin_ns - last_);
    number(slice.length_ns);
    add_figures(slice);
    last_ = slice.begin_ns;
    ends_.push_back(slice.begin_ns + slice.length_ns);
  }

 private:
  void number(uint64_t value) { put_leb128(bytes_, value); }
  void check(const FlameSlice& slice) const {
    const bool is_call = slice.kind == FlameSlice::kCall;
    const bool named = slice.kind == FlameSlice::kResumed
                           ? slice.what <= input_.chart.tracks.size()
                           : !is_call || slice.what < input_.functions.size();
    const bool inside =
        slice.depth <= ends_.size() &&
        (slice.depth == 0 || slice.begin_ns + slice.length_ns <= ends_[slice.depth - 1]);
    if (named && inside && slice.begin_ns >= last_) return;
    throw std::invalid_argument("flame page: a slice of track " + std::to_string(track_) +
                                " is out of place");
  }
  static uint64_t code_of(const FlameSlice& slice) {
    switch (slice.kind) {
      case FlameSlice::kShort:
        return 0;
      case FlameSlice::kResumed:
        return 1;
      case FlameSlice::kSuspended:
        return 2;
      case FlameSlice::kFiltered:
        return 3;
      default:
        return uint64_t{4} + slice.what;
    }
  }
  void add_figures(const FlameSlice& slice) {
    if (slice.kind == FlameSlice::kResumed) number(slice.what);
    if (slice.kind == FlameSlice::kShort) {
      for (uint64_t value : {slice.calls, slice.self_ns, slice.suspended_ns}) number(value);
    }
    if (slice.kind == FlameSlice::kCall) {
      for (uint64_t value : {slice.self_ns, slice.suspended_ns, slice.calls}) number(value);
    }
  }

  const FlameInput& input_;
  std::vector<uint8_t>& bytes_;
  std::vector<uint64_t> ends_;  // of the open slices
  uint64_t last_;               // begin of the previous slice
  size_t track_;
};

}  // namespace

PackedChart pack_chart(const FlameInput& input) {
  PackedChart chart;
  const auto& tracks = input.chart.tracks;
  if (!tracks.empty()) chart.origin_ns = UINT64_MAX;
  for (const FlameTrack& track : tracks) {
    chart.origin_ns = std::min(chart.origin_ns, track.begin_ns);
  }
  for (size_t i = 0; i < tracks.size(); i++) {
    TrackEncoder encoder(input, chart.bytes, chart.origin_ns, i);
    for (const FlameSlice& slice : tracks[i].slices) encoder.add(slice);
  }
  return chart;
}

}  // namespace luatrace::analyze::page
