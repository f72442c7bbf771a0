// SPDX-License-Identifier: MIT
// The tracks of a file's coroutines: the open slices of each, and how slices are written.
//
// A slice that begins before --time-range may also end before it. So it is written only when
// something happens on its track within the range.
//
// Invariant: the slices of a track are written in the order of time, and inner slices end before
// outer ones; every slice that is begun is ended.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/collect/call_writer.h"
#include "analyzer/collect/filtered_profile.h"
#include "base/grow_array.h"

namespace luatrace::analyze {

enum class LaneState : uint8_t { kOwn, kResumed, kSuspended, kFiltered, kUnknown };
struct LaneFrame {
  uint64_t running_begin = 0, self = 0;
  uint32_t depth = 0;  // Of the call in its coroutine; 0 for a marker.
  uint32_t function = 0;
  bool marker = false;  // Not a call, but a slice that says why the coroutine does not run itself.
};
struct CallLane {
  Track track;
  uint32_t other = 0;  // kResumed: the resumed coroutine.
  LaneState state = LaneState::kOwn;
  uint64_t woke = 0;  // Tick at which it last ceased to be suspended.
  // At the last moment within the range: suspended ticks so far, and since when it is suspended.
  uint64_t suspended = 0, left = UINT64_MAX;
  GrowArray<LaneFrame> open;  // Only the innermost may be a marker, ...
  Slice marker;               // ... with this slice.
  // Number of frames of `open`, from the outermost, that are written; the rest begin before the
  // range.
  uint32_t written = 0;
  bool early = false;  // Calls in `open` begin before the range: running_begin is not final.
  bool has_calls() const { return open.size() > (open.empty() || !open.back().marker ? 0 : 1); }
};
class CallLanes {
 public:
  using Namer = std::function<FrameName(uint32_t function)>;

  // Slices are clipped to the ticks from..to.
  CallLanes(CallWriter& writer, const TraceFacts& facts, uint64_t from, uint64_t to, Namer namer)
      : writer_(writer), facts_(facts), from_(from), to_(to), namer_(std::move(namer)) {}

  uint64_t from() const { return from_; }
  uint64_t to() const { return to_; }
  // Sets the numbers used so far, by the files before.
  void number_from(uint64_t tracks, uint32_t functions) {
    tracks_count_ = tracks, functions_count_ = functions;
  }
  uint64_t tracks() const { return tracks_count_; }
  uint32_t functions() const { return functions_count_; }

  CallLane* find(uint32_t stream, uint32_t coroutine);
  // Returns the coroutine's track, and whether it is new. A track keeps the thread of its first
  // use.
  std::pair<CallLane&, bool> get(uint32_t stream, uint32_t coroutine, uint32_t tid);
  // Ends all open slices and the track.
  void erase(CallLane& lane, uint64_t tick);
  void clear() { lanes_.clear(); }

  void begin_call(CallLane& lane, const Coroutine& co, CallObserver::Open call, uint64_t now);
  void end_call(CallLane& lane, const Coroutine& co, uint64_t now);
  // The coroutine runs within the range for the first time: its open calls are timed from here.
  void enter_range(CallLane& lane, const Coroutine& co);
  // From `tick` on the coroutine is in this state. other, flow: Slice::coroutine, Slice::flow.
  void set_state(CallLane& lane, LaneState state, uint32_t other, uint64_t tick, uint64_t flow = 0);
  void end_marker(CallLane& lane, uint64_t tick);
  static void wake(CallLane& lane, uint64_t tick) {
    if (lane.state == LaneState::kSuspended) lane.woke = tick;
  }
  void arrive(CallLane& lane, uint64_t flow, uint64_t tick);

 private:
  static uint64_t key(uint32_t stream, uint32_t coroutine) {
    return uint64_t{stream} << 32 | coroutine;
  }
  std::shared_ptr<const std::string> command(uint32_t process);
  uint64_t running_clock(const CallLane& lane, const Coroutine& co, uint64_t now) const;
  uint64_t clip(uint64_t tick) const { return std::clamp(tick, from_, to_); }
  uint64_t own_ns(uint32_t number, uint64_t ticks);
  uint64_t ns(uint64_t tick) const;
  uint32_t number_of(uint32_t function);
  void write_begin(CallLane& lane, uint64_t tick);
  void write_open(CallLane& lane, uint64_t tick);
  void push(CallLane& lane, LaneFrame frame, uint64_t tick);
  void end(CallLane& lane, uint64_t tick, uint64_t running);

  CallWriter& writer_;
  const TraceFacts& facts_;
  uint64_t from_, to_;
  Namer namer_;
  std::unordered_map<uint64_t, CallLane> lanes_;
  std::vector<uint32_t> numbers_;  // By function of the file: number in define(); 0: none.
  std::vector<uint64_t> own_;      // By number: ticks of self time written so far.
  // By number of the process; 0: unknown process.
  std::unordered_map<uint32_t, std::shared_ptr<const std::string>> commands_;
  uint64_t tracks_count_ = 0;
  uint32_t functions_count_ = 0;
};

}  // namespace luatrace::analyze
