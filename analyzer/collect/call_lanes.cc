// SPDX-License-Identifier: MIT
#include "analyzer/collect/call_lanes.h"

#include "base/escape.h"

namespace luatrace::analyze {

CallLane* CallLanes::find(StreamId stream, CoroutineId coroutine) {
  auto it = lanes_.find(pair_key(stream, coroutine));
  return it == lanes_.end() ? nullptr : &it->second;
}

// Track names contain it, so it is cut and shared: it may be long, and the tracks many.
std::shared_ptr<const std::string> CallLanes::command(ProcessId process) {
  constexpr size_t kMaxBytes = 500;
  auto& known = commands_[process];
  if (known) return known;
  std::string all;
  if (auto p = facts_.processes.find(process); p != facts_.processes.end())
    for (const auto& word : p->second.cmdline) {
      if (all.size() > kMaxBytes) break;
      all += (all.empty() ? "" : " ") + printable(word);
    }
  return known = std::make_shared<std::string>(cut_bytes(all, kMaxBytes));
}

std::pair<CallLane&, bool> CallLanes::get(StreamId stream, CoroutineId coroutine, ThreadId tid) {
  auto [it, fresh] = lanes_.try_emplace(pair_key(stream, coroutine));
  CallLane& lane = it->second;
  if (!fresh) return {lane, false};
  Track& track = lane.track;
  track.number = ++used_.tracks;
  track.tid = tid;
  track.stream = stream;
  track.coroutine = coroutine;
  const ProcessId process = facts_.process_of(stream);
  if (auto p = facts_.processes.find(process); p != facts_.processes.end())
    track.pid = p->second.pid;
  writer_.track(track, {command(process), facts_.streams.size() > 1});
  return {lane, true};
}

void CallLanes::erase(CallLane& lane, uint64_t tick) {
  end_marker(lane, tick);
  while (!lane.open.empty()) end(lane, tick, 0);
  writer_.leave(lane.track);
  lanes_.erase(pair_key(lane.track.stream, lane.track.coroutine));
}

// Returns the ticks during which the coroutine was not suspended. It is constant after the range.
uint64_t CallLanes::running_clock(const CallLane& lane, const Coroutine& co, uint64_t now) const {
  const bool after_range = now >= to_;
  const uint64_t at = after_range ? std::min(to_, lane.suspended_since)
                                  : clip(co.running ? now : std::min(now, co.since));
  const uint64_t suspended = after_range ? lane.suspended : co.suspended;
  return at > suspended ? at - suspended : 0;
}

SliceFunctionId CallLanes::defined(FunctionId function) {
  const SliceFunctionId number = numbers_[function] = ++used_.functions;
  writer_.define(number, namer_(function));
  return number;
}

// -- Slices --

void CallLanes::arrive(CallLane& lane, uint64_t flow, uint64_t tick) {
  write_open(lane, tick);
  writer_.arrive(lane.track, flow, ns(tick));
}

// Writes the beginning of the outermost slice that is not written yet.
void CallLanes::write_begin(CallLane& lane, uint64_t tick) {
  LaneFrame& frame = lane.open[lane.written++];
  frame.begin = clip(tick);
  Slice slice;
  if (frame.marker)
    slice = lane.marker;
  else
    slice.function = number_of(frame.function);
  const bool resumed = slice.kind == Slice::kResumed;
  const CallLane* other = resumed ? find(lane.track.stream, slice.coroutine) : nullptr;
  if (other) slice.track = other->track.number;
  writer_.begin(lane.track, slice, ns(frame.begin));
}

// Slices that are still open after the beginning of the range are shown from that beginning.
void CallLanes::write_open(CallLane& lane, uint64_t tick) {
  while (tick > from_ && lane.written < lane.open.size()) write_begin(lane, from_);
}

void CallLanes::push(CallLane& lane, LaneFrame frame, uint64_t tick) {
  write_open(lane, tick);
  lane.open.push_back(frame);
  if (tick > from_) write_begin(lane, tick);
}

// Ends the innermost slice. running: inclusive ticks of a call.
void CallLanes::end(CallLane& lane, uint64_t tick, uint64_t running) {
  write_open(lane, tick);
  const LaneFrame frame = lane.open.back();
  lane.open.pop_back();
  if (lane.written <= lane.open.size()) return;  // The slice was not in the range.
  lane.written--;
  const uint64_t at = clip(tick);
  writer_.end(lane.track, ns(at), frame.marker ? SliceTimes{} : times(frame, running, at));
}

// -- Calls and markers --

void CallLanes::begin_call(CallLane& lane, const Coroutine& co, CallObserver::Open call,
                           uint64_t now) {
  lane.suspended = co.suspended;
  if (now > from_) enter_range(lane, co);
  LaneFrame frame;
  frame.depth = call.depth;
  frame.function = call.function;
  frame.running_begin = running_clock(lane, co, now);
  lane.early |= now <= from_;
  push(lane, frame, now);
}

void CallLanes::enter_range(CallLane& lane, const Coroutine& co) {
  if (!std::exchange(lane.early, false)) return;
  const uint64_t at = std::max(from_, lane.woke);
  for (LaneFrame& f : lane.open) f.running_begin = at > co.suspended ? at - co.suspended : 0;
}

void CallLanes::end_call(CallLane& lane, const Coroutine& co, uint64_t now) {
  if (now > from_) enter_range(lane, co);
  const uint64_t end_clock = running_clock(lane, co, now), begin = lane.open.back().running_begin;
  end(lane, now, end_clock > begin ? end_clock - begin : 0);
}

void CallLanes::end_marker(CallLane& lane, uint64_t tick) {
  lane.state = LaneState::kOwn;
  if (lane.open.empty() || !lane.open.back().marker) return;
  end(lane, tick, 0);
}

void CallLanes::set_state(CallLane& lane, LaneState state, CoroutineId other, uint64_t tick,
                          uint64_t flow) {
  if (lane.state == state && lane.other == other) return;
  end_marker(lane, tick);
  lane.state = state;
  lane.other = other;
  if (state == LaneState::kOwn || lane.open.empty() || tick >= to_) return;
  Slice& slice = lane.marker = {};
  slice.kind = state == LaneState::kResumed     ? Slice::kResumed
               : state == LaneState::kSuspended ? Slice::kSuspended
               : state == LaneState::kFiltered  ? Slice::kFiltered
                                                : Slice::kUnknown;
  slice.coroutine = other;
  slice.flow = flow;
  LaneFrame frame;
  frame.marker = true;
  push(lane, frame, tick);
}

}  // namespace luatrace::analyze
