// SPDX-License-Identifier: MIT
#include "analyzer/collect/call_log.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace luatrace::analyze {

CallLane& CallLog::lane(StreamId stream, CoroutineId coroutine, ThreadId tid) {
  auto [lane, fresh] = lanes_.get(stream, coroutine, tid);
  if (fresh) chain(stream).set_lane(coroutine, &lane);
  return lane;
}

// -- Calls --

void CallLog::opened(const Coroutine& co, StreamId stream, ThreadId tid, FunctionId function,
                     uint64_t now) {
  if (now >= lanes_.to()) return;
  CallLane& l = lane(stream, co.id, tid);
  lanes_.wake(l, now);
  lanes_.end_marker(l, now);
  const bool first = l.open.empty();
  lanes_.begin_call(l, co, {co.top, function}, now);
  if (!first) return;
  // From now on the resumer waits for this coroutine.
  Chain& chain = this->chain(stream);
  const bool resumed = chain.size() > 1 && chain.current().coroutine == co.id;
  const CallLane* by = resumed ? chain[chain.last() - 1].lane : nullptr;
  // With own_stacks_ the resumer has waited since the resume.
  const bool waits = by && by->has_calls() && !own_stacks_;
  const uint64_t flow = waits && now > lanes_.from() ? ++used_.flows : 0;
  calls_changed(chain, co.id, now, flow);
  if (flow) lanes_.arrive(l, flow, now);
}

void CallLog::closed(const Coroutine& co, StreamId stream, uint64_t now, const CallEnd&) {
  CallLane* l = lanes_.find(stream, co.id);
  if (!l) return;
  lanes_.end_marker(*l, now);
  if (l->open.empty() || l->open.back().depth != co.top) return;
  lanes_.end_call(*l, co, now);
  if (l->open.empty()) calls_changed(chain(stream), co.id, now);
}

// Calls that are shown as before continue. The other shown calls end, and the new ones begin.
void CallLog::moved(const Coroutine& co, StreamId stream, ThreadId tid, uint64_t now,
                    const std::vector<Open>& open) {
  if (now >= lanes_.to() || (open.empty() && !lanes_.find(stream, co.id))) return;
  CallLane& l = lane(stream, co.id, tid);
  const size_t calls = l.calls();
  size_t same = 0;
  while (same < std::min(calls, open.size()) && l.open[same].depth == open[same].depth &&
         l.open[same].function == open[same].function)
    same++;
  if (same == calls && same == open.size()) return;
  lanes_.wake(l, now);
  lanes_.end_marker(l, now);
  while (l.open.size() > same) lanes_.end_call(l, co, now);
  for (; same < open.size(); same++) lanes_.begin_call(l, co, open[same], now);
  calls_changed(chain(stream), co.id, now);
}

void CallLog::gone(const Coroutine& co, StreamId stream, uint64_t now) {
  CallLane* l = lanes_.find(stream, co.id);
  if (!l) return;
  chain(stream).set_lane(co.id, nullptr);
  lanes_.erase(*l, now);
}

void CallLog::finish() {
  lanes_.clear();
  chains_.clear();
  last_chain_ = nullptr;
}

// -- Runs --

// The lane must be as it is after time has passed in the coroutine. Only the outermost call's end
// can then change more than the lane itself, and a run ends with it.
bool CallLog::begin_run(const Coroutine& co, StreamId stream, uint64_t now, uint64_t until) {
  if (now <= lanes_.from() || until >= lanes_.to()) return false;
  Chain& chain = this->chain(stream);
  if (chain.empty() || chain.current().coroutine != co.id) return false;
  CallLane* l = chain.current().lane;
  if (!l || l->state != LaneState::kOwn || l->early || l->open.empty()) return false;
  if (l->open.back().marker || l->open[0].depth != 1 || l->written != l->open.size()) return false;
  l->suspended = co.suspended;
  run_ = {l, &chain, now};
  return true;
}

void CallLog::run_opened(const Coroutine& co, ThreadId, uint32_t depth, FunctionId function,
                         uint64_t now) {
  add_run_time(now);
  lanes_.begin_call(*run_.lane, co, {depth, function}, now);
}

void CallLog::run_closed(const Coroutine& co, uint32_t depth, uint64_t now, const CallEnd&) {
  add_run_time(now);
  if (run_.lane->open.back().depth != depth) return;
  lanes_.end_call(*run_.lane, co, now);
  if (run_.lane->open.empty()) calls_changed(*run_.chain, co.id, now);
}

// -- The running chain --

// A coroutine waits as soon as one that it has resumed, directly or not, has an open call. Until
// then the time is its own (docs/semantics.md), unless stacks are separate. The current coroutine
// is not changed.
void CallLog::mark_waiting(Chain& chain, size_t place, uint64_t tick, uint64_t flow) {
  if (place == Chain::kNone || place >= chain.last()) return;
  CallLane* l = chain[place].lane;
  if (!l) return;
  const size_t caller = chain.caller();
  const bool waits = own_stacks_ || (caller != Chain::kNone && caller > place);
  lanes_.set_state(*l, waits ? LaneState::kResumed : LaneState::kOwn,
                   waits ? chain[place + 1].coroutine : kUnknownCoroutine, tick,
                   place + 1 == chain.last() ? flow : 0);
}

// The coroutine may have got its first call or lost its last one. That may change the state of
// three coroutines: this one, the innermost one with calls, and the previous innermost one with
// calls.
void CallLog::calls_changed(Chain& chain, CoroutineId coroutine, uint64_t tick, uint64_t flow) {
  if (chain.empty()) return;
  const size_t place = chain.place(coroutine), before = chain.caller();
  if (place != Chain::kNone) chain.update(place);
  mark_changed(chain, {place, before, chain.caller()}, tick, flow);
}

void CallLog::mark_changed(Chain& chain, std::array<size_t, 3> places, uint64_t tick,
                           uint64_t flow) {
  std::sort(places.begin(), places.end(), std::greater<>());
  for (size_t place : places) mark_waiting(chain, place, tick, flow);
}

// The coroutine is in the running chain now.
void CallLog::arrived(const Coroutine& co, CallLane* lane, uint64_t tick) const {
  if (!lane || tick >= lanes_.to()) return;
  lane->suspended = co.suspended;
  lane->suspended_since = UINT64_MAX;
}

void CallLog::suspend(CallLane& lane, uint64_t tick, uint64_t flow) {
  if (tick < lanes_.to()) lane.suspended_since = tick;
  lanes_.set_state(lane, LaneState::kSuspended, kUnknownCoroutine, tick, flow);
}
// Rebuilds the chain after anything but a resume or a suspension. The machine has also walked the
// whole chain then, and limits how often that happens.
void CallLog::rebuild(FilteredProfile::Machine& machine, StreamId stream, Chain& chain,
                      uint64_t tick, uint64_t flow) {
  const Chain before = std::exchange(chain, {});
  std::vector<Chain::Link> links;
  std::unordered_set<CoroutineId, RandomHash> known;  // A damaged trace might have a cycle.
  chain.links = machine.links();
  machine.each_in_chain(machine.current(), [&](const Coroutine& co) {
    if (!known.insert(co.id).second) return;
    links.push_back({co.id, lanes_.find(stream, co.id)});
    arrived(co, links.back().lane, tick);
  });
  std::reverse(links.begin(), links.end());
  chain.reset(std::move(links));
  for (size_t i = before.size(); i-- > 0;)
    if (before[i].lane && chain.place(before[i].coroutine) == Chain::kNone)
      suspend(*before[i].lane, tick, i == before.last() ? flow : 0);
}

// Updates the chain if the current coroutine was resumed by the previous one or had resumed it.
// Returns false for anything else.
bool CallLog::follow(FilteredProfile::Machine& machine, Chain& chain, CallLane* to, bool resumes,
                     uint64_t tick, uint64_t flow) {
  if (chain.empty() || chain.links != machine.links()) return false;
  const Coroutine& co = machine.current();
  if (resumes && chain.place(co.id) == Chain::kNone) {
    chain.push({co.id, to});
    return arrived(co, to, tick), true;
  }
  if (chain.size() < 2 || chain[chain.last() - 1].coroutine != co.id) return false;
  CallLane* before = chain.current().lane;
  chain.pop();
  arrived(co, to, tick);
  if (before) suspend(*before, tick, flow);
  return true;
}

// Another coroutine of the stream runs now. All that are not among its resumers are suspended.
void CallLog::switched(FilteredProfile::Machine& machine, StreamId stream, Chain& chain,
                       uint64_t tick) {
  const Coroutine& co = machine.current();
  const CoroutineId last = chain.empty() ? kUnknownCoroutine : chain.current().coroutine;
  CallLane* from = lanes_.find(stream, last);
  CallLane* to = lanes_.find(stream, co.id);
  // An arrow goes from the marker that says why one coroutine stopped, if there is one, to the
  // other.
  const Coroutine* by = machine.resumer_of(co);
  const bool resumes = by && by->id == last;
  const bool arrow = from && to && from->has_calls() && (!resumes || to->has_calls()) &&
                     tick > lanes_.from() && tick < lanes_.to();
  const uint64_t flow = arrow ? ++used_.flows : 0;
  const size_t caller = chain.empty() ? Chain::kNone : chain.caller();
  const bool follows = follow(machine, chain, to, resumes, tick, flow);
  if (!follows) rebuild(machine, stream, chain, tick, flow);
  if (to) lanes_.wake(*to, tick);
  if (to) lanes_.set_state(*to, LaneState::kOwn, kUnknownCoroutine, tick);
  const uint64_t arrives = resumes ? flow : 0;
  if (follows) {
    mark_changed(chain, {chain.last() - 1, caller, chain.caller()}, tick, arrives);
  } else {
    for (size_t i = chain.last(); i-- > 0;) mark_waiting(chain, i, tick, arrives);
  }
  if (arrow) lanes_.arrive(*to, flow, tick);
}

void CallLog::add_self_time(FilteredProfile::Machine& machine, StreamId stream, uint64_t from,
                            uint64_t to, Owner owner) {
  // The chain is empty if calls were reported before any time passed.
  Chain& chain = this->chain(stream);
  if (chain.empty() || chain.current().coroutine != machine.current().id)
    switched(machine, stream, chain, from);
  if (CallLane* current = chain.current().lane; current && to > lanes_.from())
    lanes_.enter_range(*current, machine.current());
  // Time of a coroutine without open calls belongs to the call that resumed it.
  const size_t place = own_stacks_ ? chain.last() : chain.caller();
  CallLane* l = place == Chain::kNone ? nullptr : chain[place].lane;
  if (!l || !l->has_calls()) return;
  const bool own = owner == Owner::kCall;
  lanes_.set_state(*l,
                   own                         ? LaneState::kOwn
                   : owner == Owner::kFiltered ? LaneState::kFiltered
                                               : LaneState::kUnknown,
                   kUnknownCoroutine, from);
  from = std::max(from, lanes_.from());
  to = std::min(to, lanes_.to());
  if (own && from < to) l->open.back().self += to - from;
}

}  // namespace luatrace::analyze
