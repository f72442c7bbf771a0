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
#include "base/random_hash.h"

namespace luatrace::analyze {

enum class LaneState : uint8_t { kOwn, kResumed, kSuspended, kFiltered, kUnknown };
struct LaneFrame {
  uint64_t running_begin = 0, self = 0;
  uint64_t begin = 0;  // Tick from which on it is shown, once it is written.
  uint32_t depth = 0;  // Of the call in its coroutine; 0 for a marker.
  FunctionId function;
  bool marker = false;  // Not a call, but a slice that says why the coroutine does not run itself.
};
struct CallLane {
  Track track;
  CoroutineId other;  // kResumed: the resumed coroutine.
  LaneState state = LaneState::kOwn;
  uint64_t woke = 0;  // Tick at which it last ceased to be suspended.
  // At the last moment within the range: suspended ticks so far, and since when it is suspended.
  uint64_t suspended = 0, suspended_since = UINT64_MAX;
  GrowArray<LaneFrame> open;  // Only the innermost may be a marker, ...
  Slice marker;               // ... with this slice.
  // Number of frames of `open`, from the outermost, that are written; the rest begin before the
  // range.
  uint32_t written = 0;
  bool early = false;  // Calls in `open` begin before the range: running_begin is not final.
  size_t calls() const { return open.size() - (!open.empty() && open.back().marker); }
  bool has_calls() const { return calls() > 0; }
};
class CallLanes {
 public:
  using Namer = std::function<FrameName(FunctionId function)>;

  // Slices are clipped to the ticks from..to.
  CallLanes(CallWriter& writer, SliceNumbers& used, const TraceFacts& facts, uint64_t from,
            uint64_t to, Namer namer)
      : writer_(writer),
        used_(used),
        facts_(facts),
        from_(from),
        to_(to),
        namer_(std::move(namer)) {}

  uint64_t from() const { return from_; }
  uint64_t to() const { return to_; }

  CallLane* find(StreamId stream, CoroutineId coroutine);
  // Returns the coroutine's track, and whether it is new. A track keeps the thread of its first
  // use.
  std::pair<CallLane&, bool> get(StreamId stream, CoroutineId coroutine, ThreadId tid);
  // Ends all open slices and the track.
  void erase(CallLane& lane, uint64_t tick);
  void clear() { lanes_.clear(); }

  void begin_call(CallLane& lane, const Coroutine& co, CallObserver::Open call, uint64_t now);
  void end_call(CallLane& lane, const Coroutine& co, uint64_t now);
  // The coroutine runs within the range for the first time: its open calls are timed from here.
  void enter_range(CallLane& lane, const Coroutine& co);
  // From `tick` on the coroutine is in this state. other, flow: Slice::coroutine, Slice::flow.
  void set_state(CallLane& lane, LaneState state, CoroutineId other, uint64_t tick,
                 uint64_t flow = 0);
  void end_marker(CallLane& lane, uint64_t tick);
  static void wake(CallLane& lane, uint64_t tick) {
    if (lane.state == LaneState::kSuspended) lane.woke = tick;
  }
  void arrive(CallLane& lane, uint64_t flow, uint64_t tick);
  uint64_t ns(uint64_t tick) const { return facts_.clock.mono_ns(tick); }

  // As begin_call() and end_call() in a run of the coroutine (CallLog::begin_run()), but nothing is
  // passed to the writer: it gets the function's number, and what end() would get.
  // Members are read and written one by one, because a wider load of what was just written waits
  // until that has left the processor's store buffer.
  SliceFunctionId begin_in_run(CallLane& lane, uint64_t suspended, uint32_t depth,
                               FunctionId function, uint64_t now) {
    LaneFrame& frame = lane.open.append();
    frame.running_begin = now > suspended ? now - suspended : 0;
    frame.self = 0;
    frame.begin = now;
    frame.depth = depth;
    frame.function = function;
    frame.marker = false;
    lane.written++;
    return number_of(function);
  }
  SliceTimes end_in_run(CallLane& lane, uint64_t suspended, uint64_t now) {
    const LaneFrame& frame = lane.open.back();
    const uint64_t clock = now > suspended ? now - suspended : 0;
    const uint64_t running = clock - std::min(clock, frame.running_begin);
    lane.open.pop_back();
    lane.written--;
    return times(frame, running, now);
  }

 private:
  // Of functions, by number: ticks of self time written so far, and the same in ns.
  struct Written {
    uint64_t ticks = 0, ns = 0;
  };
  std::shared_ptr<const std::string> command(ProcessId process);
  uint64_t running_clock(const CallLane& lane, const Coroutine& co, uint64_t now) const;
  uint64_t clip(uint64_t tick) const { return std::clamp(tick, from_, to_); }
  // Converts the self time of a call to ns, rounded so that the sum for the function is exact.
  uint64_t self_ns(SliceFunctionId number, uint64_t ticks) {
    if (!ticks) return 0;
    Written& sum = grown(self_, number);
    const uint64_t before_ns = sum.ns;
    sum.ns = facts_.clock.ns(sum.ticks += ticks);
    return sum.ticks < ticks ? facts_.clock.ns(ticks) : sum.ns - before_ns;
  }
  // Of the call that ends at this tick. What is not running time is suspended time, in ticks: the
  // difference of rounded times would be 1 ns now and then.
  [[gnu::always_inline]] SliceTimes times(const LaneFrame& frame, uint64_t running, uint64_t tick) {
    const uint64_t own = self_ns(number_of(frame.function), frame.self);
    const uint64_t wall = tick - frame.begin;
    const uint64_t suspended = wall - std::min(wall, std::max(running, frame.self));
    return {std::max(facts_.clock.ns(running), own), own,
            suspended ? facts_.clock.ns(suspended) : 0};
  }
  SliceFunctionId number_of(FunctionId function) {
    const SliceFunctionId number = grown(numbers_, function);
    return number == kNoSliceFunction ? defined(function) : number;
  }
  SliceFunctionId defined(FunctionId function);
  void write_begin(CallLane& lane, uint64_t tick);
  void write_open(CallLane& lane, uint64_t tick);
  void push(CallLane& lane, LaneFrame frame, uint64_t tick);
  void end(CallLane& lane, uint64_t tick, uint64_t running);

  CallWriter& writer_;
  SliceNumbers& used_;
  const TraceFacts& facts_;
  uint64_t from_, to_;
  Namer namer_;
  std::unordered_map<uint64_t, CallLane> lanes_;
  std::vector<SliceFunctionId> numbers_;  // By function of the file.
  std::vector<Written> self_;             // By number.
  std::unordered_map<ProcessId, std::shared_ptr<const std::string>, RandomHash> commands_;
};

}  // namespace luatrace::analyze
