// SPDX-License-Identifier: MIT
#include "analyzer/export/call_log.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "analyzer/render/format.h"

#include "analyzer/decode/escape.h"

namespace luatrace {

CallLog::Lane* CallLog::find(uint32_t stream, uint32_t coroutine) {
  auto it = lanes_.find(key(stream, coroutine));
  return it == lanes_.end() ? nullptr : &it->second;
}

// Headings are made of it: a command line may be long, and its tracks many.
std::shared_ptr<const std::string> CallLog::command(uint32_t process) {
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

// The coroutine's track, made at its first use; it stays under the thread on which that was.
CallLog::Lane& CallLog::lane(uint32_t stream, uint32_t coroutine, uint32_t tid) {
  auto [it, fresh] = lanes_.try_emplace(key(stream, coroutine));
  Lane& lane = it->second;
  if (!fresh) return lane;
  chains_[stream].set_lane(coroutine, &lane);
  Track& track = lane.track;
  track.number = ++tracks_count_;
  track.tid = tid;
  track.stream = stream;
  track.coroutine = coroutine;
  const uint32_t process = facts_.process_of(stream);
  if (auto p = facts_.processes.find(process); p != facts_.processes.end())
    track.pid = p->second.pid;
  writer_.track(track, {command(process), facts_.streams.size() > 1});
  return lane;
}

// Ticks that the coroutine has not been suspended. Behind the range it stands still.
uint64_t CallLog::running_clock(const Lane& lane, const Coroutine& co, uint64_t now) const {
  const bool behind = now >= to_;
  const uint64_t at =
      behind ? std::min(to_, lane.left) : clip(co.running ? now : std::min(now, co.since));
  const uint64_t suspended = behind ? lane.suspended : co.suspended;
  return at > suspended ? at - suspended : 0;
}

uint32_t CallLog::number_of(uint32_t function) {
  if (function >= numbers_.size()) numbers_.resize(2 * size_t{function} + 64);
  uint32_t& number = numbers_[function];
  if (number == 0) writer_.define(number = ++functions_count_, namer_(function));
  return number;
}

// -- Slices --

uint64_t CallLog::ns(uint64_t tick) const {
  const Clock& clock = facts_.clock;
  return clock.start_mono_ns + clock.ns(tick - std::min(tick, clock.start_tick));
}

// Self time of a call, rounded so that that of all calls of its function together is exact.
uint64_t CallLog::own_ns(uint32_t number, uint64_t ticks) {
  if (number >= own_.size()) own_.resize(2 * size_t{number} + 64);
  const Clock& clock = facts_.clock;
  const uint64_t before = own_[number], after = before + ticks;
  own_[number] = after;
  return after < before ? clock.ns(ticks) : clock.ns(after) - clock.ns(before);
}

void CallLog::arrive(Lane& lane, uint64_t flow, uint64_t tick) {
  write_open(lane, tick);
  writer_.arrive(lane.track, flow, ns(tick));
}

// The outermost slice that is not written yet begins.
void CallLog::write_begin(Lane& lane, uint64_t tick) {
  const Frame& frame = lane.open[lane.written++];
  Slice slice;
  if (frame.marker)
    slice = lane.marker;
  else
    slice.function = number_of(frame.function);
  const bool resumed = slice.kind == Slice::kResumed;
  const Lane* other = resumed ? find(lane.track.stream, slice.coroutine) : nullptr;
  if (other) slice.track = other->track.number;
  writer_.begin(lane.track, slice, ns(clip(tick)));
}

// What is open at a moment after the beginning of the range is shown from there on.
void CallLog::write_open(Lane& lane, uint64_t tick) {
  while (tick > from_ && lane.written < lane.open.size()) write_begin(lane, from_);
}

void CallLog::push(Lane& lane, Frame frame, uint64_t tick) {
  write_open(lane, tick);
  lane.open.push_back(frame);
  if (tick > from_) write_begin(lane, tick);
}

// The innermost slice ends. Of a call: its running time.
void CallLog::end(Lane& lane, uint64_t tick, uint64_t running) {
  write_open(lane, tick);
  const Frame frame = lane.open.back();
  lane.open.pop_back();
  if (lane.written <= lane.open.size()) return;  // It was not in the range.
  lane.written--;
  const uint64_t own = frame.marker ? 0 : own_ns(number_of(frame.function), frame.self);
  writer_.end(lane.track, ns(clip(tick)), std::max(facts_.clock.ns(running), own), own);
}

// -- Calls --

void CallLog::begin_call(Lane& lane, const Coroutine& co, Open call, uint64_t now) {
  lane.suspended = co.suspended;
  if (now > from_) enter_range(lane, co);
  Frame frame;
  frame.depth = call.depth;
  frame.function = call.function;
  frame.running_begin = running_clock(lane, co, now);
  lane.early |= now <= from_;
  push(lane, frame, now);
}

void CallLog::opened(const Coroutine& co, uint32_t stream, uint32_t tid, uint32_t function,
                     uint64_t now) {
  if (now >= to_) return;
  Lane& l = lane(stream, co.id, tid);
  wake(l, now);
  end_marker(l, now);
  const bool first = l.open.empty();
  begin_call(l, co, {co.top, function}, now);
  if (!first) return;
  // From now on the one that resumed it waits for it.
  Chain& chain = chains_[stream];
  const bool resumed = chain.size() > 1 && chain.current().coroutine == co.id;
  const Lane* by = resumed ? chain[chain.last() - 1].lane : nullptr;
  const bool waits = by && by->has_calls() && !own_stacks_;  // Else it did since it resumed.
  const uint64_t flow = waits && now > from_ ? ++flows_ : 0;
  calls_changed(chain, co.id, now, flow);
  if (flow) arrive(l, flow, now);
}

// The coroutine runs within the range for the first time: from here on its calls are timed.
void CallLog::enter_range(Lane& lane, const Coroutine& co) {
  if (!std::exchange(lane.early, false)) return;
  const uint64_t at = std::max(from_, lane.woke);
  for (Frame& f : lane.open) f.running_begin = at > co.suspended ? at - co.suspended : 0;
}

void CallLog::closed(const Coroutine& co, uint32_t stream, uint64_t now) {
  Lane* l = find(stream, co.id);
  if (!l) return;
  end_marker(*l, now);
  if (l->open.empty() || l->open.back().depth != co.top) return;
  end_call(*l, co, now);
  if (l->open.empty()) calls_changed(chains_[stream], co.id, now);
}

void CallLog::end_call(Lane& lane, const Coroutine& co, uint64_t now) {
  if (now > from_) enter_range(lane, co);
  const uint64_t end_clock = running_clock(lane, co, now), begin = lane.open.back().running_begin;
  end(lane, now, end_clock > begin ? end_clock - begin : 0);
}

// What is shown as it was goes on. The rest ends, as far as it was shown, and begins as it is now.
void CallLog::moved(const Coroutine& co, uint32_t stream, uint32_t tid, uint64_t now,
                    const std::vector<Open>& open) {
  if (now >= to_ || (open.empty() && !find(stream, co.id))) return;
  Lane& l = lane(stream, co.id, tid);
  const size_t calls = l.open.size() - (l.open.empty() || !l.open.back().marker ? 0 : 1);
  size_t same = 0;
  while (same < std::min(calls, open.size()) && l.open[same].depth == open[same].depth &&
         l.open[same].function == open[same].function)
    same++;
  if (same == calls && same == open.size()) return;
  wake(l, now);
  end_marker(l, now);
  while (l.open.size() > same) end_call(l, co, now);
  for (; same < open.size(); same++) begin_call(l, co, open[same], now);
  calls_changed(chains_[stream], co.id, now);
}

void CallLog::gone(const Coroutine& co, uint32_t stream, uint64_t now) {
  Lane* l = find(stream, co.id);
  if (!l) return;
  end_marker(*l, now);
  while (!l->open.empty()) end(*l, now, 0);
  writer_.leave(l->track);
  chains_[stream].set_lane(co.id, nullptr);
  lanes_.erase(key(stream, co.id));
}

void CallLog::finish() {
  lanes_.clear();
  chains_.clear();
}

// -- Who runs --

void CallLog::end_marker(Lane& lane, uint64_t tick) {
  lane.state = State::kOwn;
  if (lane.open.empty() || !lane.open.back().marker) return;
  end(lane, tick, 0);
}

void CallLog::set_state(Lane& lane, State state, uint32_t other, uint64_t tick, uint64_t flow) {
  if (lane.state == state && lane.other == other) return;
  end_marker(lane, tick);
  lane.state = state;
  lane.other = other;
  if (state == State::kOwn || lane.open.empty() || tick >= to_) return;
  Slice& slice = lane.marker = {};
  slice.kind = state == State::kResumed     ? Slice::kResumed
               : state == State::kSuspended ? Slice::kSuspended
               : state == State::kFiltered  ? Slice::kFiltered
                                            : Slice::kUnknown;
  slice.coroutine = other;
  slice.flow = flow;
  Frame frame;
  frame.marker = true;
  push(lane, frame, tick);
}

// A coroutine waits for the one it has resumed as soon as that one, or one that this has resumed,
// has a call open: until then the time is its own (docs/semantics.md), unless stacks are separate.
// What the current one does is not said here.
void CallLog::mark_waiting(Chain& chain, size_t place, uint64_t tick, uint64_t flow) {
  if (place == Chain::kNone || place >= chain.last()) return;
  Lane* l = chain[place].lane;
  if (!l) return;
  const size_t caller = chain.caller();
  const bool waits = own_stacks_ || (caller != Chain::kNone && caller > place);
  set_state(*l, waits ? State::kResumed : State::kOwn, waits ? chain[place + 1].coroutine : 0, tick,
            place + 1 == chain.last() ? flow : 0);
}

// The calls of this coroutine, or of what runs inside it, may have become none, or the first ones:
// for whom it waits changes for itself, for the innermost with calls, and for what was that.
void CallLog::calls_changed(Chain& chain, uint32_t coroutine, uint64_t tick, uint64_t flow) {
  if (chain.empty()) return;
  const size_t place = chain.place(coroutine), before = chain.caller();
  if (place != Chain::kNone) chain.update(place);
  mark_changed(chain, {place, before, chain.caller()}, tick, flow);
}

// The inner ones first.
void CallLog::mark_changed(Chain& chain, std::array<size_t, 3> places, uint64_t tick,
                           uint64_t flow) {
  std::sort(places.begin(), places.end(), std::greater<>());
  for (size_t place : places) mark_waiting(chain, place, tick, flow);
}

// It runs: alone or for one that it has resumed.
void CallLog::arrived(const Coroutine& co, Lane* lane, uint64_t tick) const {
  if (!lane || tick >= to_) return;
  lane->suspended = co.suspended;
  lane->left = UINT64_MAX;
}

void CallLog::suspend(Lane& lane, uint64_t tick, uint64_t flow) {
  if (tick < to_) lane.left = tick;
  set_state(lane, State::kSuspended, 0, tick, flow);
}
// From each thing that is not a resume or a suspension the whole chain must be asked for: the
// machine has gone through it, too, and limits how often.
void CallLog::make_again(FilteredProfile::Machine& machine, uint32_t stream, Chain& chain,
                         uint64_t tick, uint64_t flow) {
  const Chain before = std::exchange(chain, {});
  std::vector<Chain::Link> links;
  std::unordered_set<uint32_t> known;  // Of a broken trace it might be a circle.
  chain.links = machine.links();
  machine.each_in_chain(machine.current(), [&](const Coroutine& co) {
    if (!known.insert(co.id).second) return;
    links.push_back({co.id, find(stream, co.id)});
    arrived(co, links.back().lane, tick);
  });
  std::reverse(links.begin(), links.end());
  chain.reset(std::move(links));
  for (size_t i = before.size(); i-- > 0;)
    if (before[i].lane && chain.place(before[i].coroutine) == Chain::kNone)
      suspend(*before[i].lane, tick, i == before.last() ? flow : 0);
}

// The same if the current coroutine was resumed by the one before, or that by it.
bool CallLog::follow(FilteredProfile::Machine& machine, Chain& chain, Lane* to, bool resumes,
                     uint64_t tick, uint64_t flow) {
  if (chain.empty() || chain.links != machine.links()) return false;
  const Coroutine& co = machine.current();
  if (resumes && chain.place(co.id) == Chain::kNone) {
    chain.push({co.id, to});
    return arrived(co, to, tick), true;
  }
  if (chain.size() < 2 || chain[chain.last() - 1].coroutine != co.id) return false;
  Lane* before = chain.current().lane;
  chain.pop();
  arrived(co, to, tick);
  if (before) suspend(*before, tick, flow);
  return true;
}

// Another coroutine of the stream runs now. Those that it is not resumed by are suspended.
void CallLog::switched(FilteredProfile::Machine& machine, uint32_t stream, Chain& chain,
                       uint64_t tick) {
  const Coroutine& co = machine.current();
  const uint32_t last = chain.empty() ? 0 : chain.current().coroutine;
  Lane* from = find(stream, last);
  Lane* to = find(stream, co.id);
  // An arrow goes from the slice that tells why the one stopped, if there is one, to the other.
  const Coroutine* by = machine.resumer_of(co);
  const bool resumes = by && by->id == last;
  const bool arrow = from && to && from->has_calls() && (!resumes || to->has_calls()) &&
                     tick > from_ && tick < to_;
  const uint64_t flow = arrow ? ++flows_ : 0;
  const size_t caller = chain.empty() ? Chain::kNone : chain.caller();
  const bool follows = follow(machine, chain, to, resumes, tick, flow);
  if (!follows) make_again(machine, stream, chain, tick, flow);
  if (to) wake(*to, tick);
  if (to) set_state(*to, State::kOwn, 0, tick);
  const uint64_t arrives = resumes ? flow : 0;
  if (follows) {
    mark_changed(chain, {chain.last() - 1, caller, chain.caller()}, tick, arrives);
  } else {
    for (size_t i = chain.last(); i-- > 0;) mark_waiting(chain, i, tick, arrives);
  }
  if (arrow) arrive(*to, flow, tick);
}

void CallLog::spend(FilteredProfile::Machine& machine, uint32_t stream, uint64_t from, uint64_t to,
                    Owner owner) {
  // Empty: calls were told of before any time passed.
  Chain& chain = chains_[stream];
  if (chain.empty() || chain.current().coroutine != machine.current().id)
    switched(machine, stream, chain, from);
  if (Lane* current = chain.current().lane; current && to > from_)
    enter_range(*current, machine.current());
  // Without a call of its own a coroutine's time is that of the call that resumed it.
  const size_t place = own_stacks_ ? chain.last() : chain.caller();
  Lane* l = place == Chain::kNone ? nullptr : chain[place].lane;
  if (!l || !l->has_calls()) return;
  const bool own = owner == Owner::kCall;
  set_state(*l,
            own                         ? State::kOwn
            : owner == Owner::kFiltered ? State::kFiltered
                                        : State::kUnknown,
            0, from);
  from = std::max(from, from_);
  to = std::min(to, to_);
  if (own && from < to) l->open.back().self += to - from;
}

}  // namespace luatrace
