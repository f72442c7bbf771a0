// SPDX-License-Identifier: MIT
#include "analyzer/collect/call_lanes.h"

#include "base/escape.h"

namespace luatrace::analyze {

CallLane* CallLanes::find(uint32_t stream, uint32_t coroutine) {
  auto it = lanes_.find(key(stream, coroutine));
  return it == lanes_.end() ? nullptr : &it->second;
}

// Track names contain it, so it is cut and shared: it may be long, and the tracks many.
std::shared_ptr<const std::string> CallLanes::command(uint32_t process) {
  constexpr size_t kMost = 500;
  auto& known = commands_[process];
  if (known) return known;
  std::string all;
  if (auto p = facts_.processes.find(process); p != facts_.processes.end())
    for (const auto& word : p->second.cmdline) {
      if (all.size() > kMost) break;
      all += (all.empty() ? "" : " ") + printable(word);
    }
  return known = std::make_shared<std::string>(cut_bytes(all, kMost));
}

std::pair<CallLane&, bool> CallLanes::get(uint32_t stream, uint32_t coroutine, uint32_t tid) {
  auto [it, fresh] = lanes_.try_emplace(key(stream, coroutine));
  CallLane& lane = it->second;
  if (!fresh) return {lane, false};
  Track& track = lane.track;
  track.number = ++tracks_count_;
  track.tid = tid;
  track.stream = stream;
  track.coroutine = coroutine;
  const uint32_t process = facts_.process_of(stream);
  if (auto p = facts_.processes.find(process); p != facts_.processes.end())
    track.pid = p->second.pid;
  writer_.track(track, {command(process), facts_.streams.size() > 1});
  return {lane, true};
}

void CallLanes::erase(CallLane& lane, uint64_t tick) {
  end_marker(lane, tick);
  while (!lane.open.empty()) end(lane, tick, 0);
  writer_.leave(lane.track);
  lanes_.erase(key(lane.track.stream, lane.track.coroutine));
}

// Returns the ticks during which the coroutine was not suspended. After the range it stands still.
uint64_t CallLanes::running_clock(const CallLane& lane, const Coroutine& co, uint64_t now) const {
  const bool behind = now >= to_;
  const uint64_t at =
      behind ? std::min(to_, lane.left) : clip(co.running ? now : std::min(now, co.since));
  const uint64_t suspended = behind ? lane.suspended : co.suspended;
  return at > suspended ? at - suspended : 0;
}

uint32_t CallLanes::number_of(uint32_t function) {
  if (function >= numbers_.size()) numbers_.resize(2 * size_t{function} + 64);
  uint32_t& number = numbers_[function];
  if (number == 0) writer_.define(number = ++functions_count_, namer_(function));
  return number;
}

// -- Slices --

uint64_t CallLanes::ns(uint64_t tick) const {
  const Clock& clock = facts_.clock;
  return clock.start_mono_ns + clock.ns(tick - std::min(tick, clock.start_tick));
}

// Converts the self time of a call to ns, rounded so that the sum for the function is exact.
uint64_t CallLanes::own_ns(uint32_t number, uint64_t ticks) {
  if (number >= own_.size()) own_.resize(2 * size_t{number} + 64);
  const Clock& clock = facts_.clock;
  const uint64_t before = own_[number], after = before + ticks;
  own_[number] = after;
  return after < before ? clock.ns(ticks) : clock.ns(after) - clock.ns(before);
}

void CallLanes::arrive(CallLane& lane, uint64_t flow, uint64_t tick) {
  write_open(lane, tick);
  writer_.arrive(lane.track, flow, ns(tick));
}

// Writes the beginning of the outermost slice that is not written yet.
void CallLanes::write_begin(CallLane& lane, uint64_t tick) {
  const LaneFrame& frame = lane.open[lane.written++];
  Slice slice;
  if (frame.marker)
    slice = lane.marker;
  else
    slice.function = number_of(frame.function);
  const bool resumed = slice.kind == Slice::kResumed;
  const CallLane* other = resumed ? find(lane.track.stream, slice.coroutine) : nullptr;
  if (other) slice.track = other->track.number;
  writer_.begin(lane.track, slice, ns(clip(tick)));
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
  const uint64_t own = frame.marker ? 0 : own_ns(number_of(frame.function), frame.self);
  writer_.end(lane.track, ns(clip(tick)), std::max(facts_.clock.ns(running), own), own);
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

void CallLanes::set_state(CallLane& lane, LaneState state, uint32_t other, uint64_t tick,
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
