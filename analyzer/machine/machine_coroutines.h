// SPDX-License-Identifier: MIT
// StackMachine: which coroutine runs, who has resumed it, and what is known of it.
#pragma once

#include <algorithm>

#include "analyzer/machine/machine.h"

namespace luatrace::analyze {

template <class Sink>
Coroutine* StackMachine<Sink>::find(CoroutineId id) {
  auto it = coroutines_.find(id);
  return it == coroutines_.end() ? nullptr : it->second.get();
}

// Returns the coroutine with this id; a new one has an empty stack, or an unknown one after a gap.
template <class Sink>
Coroutine* StackMachine<Sink>::get(CoroutineId id) {
  auto& slot = coroutines_[id];
  if (!slot) {
    slot = std::make_unique<Coroutine>();
    slot->id = id;
    slot->serial = ++serials_;
    slot->hidden = gap_seen_ || (attached_ && id != kUnknownCoroutine) ? LT_DEPTH_UNKNOWN : 0;
    slot->since = now_;
    if (id != kUnknownCoroutine) seen_.add(id);
  }
  return slot.get();
}

template <class Sink>
void StackMachine<Sink>::erase(CoroutineId id) {
  coroutines_.erase(id);
}

// Ends all that is known of the coroutine; adds its open calls to `counter`.
template <class Sink>
void StackMachine<Sink>::cut(Coroutine& co, uint64_t& counter, Gone how) {
  wake(co, false);
  counter += co.top - co.sections;
  close_unseen(co, 0,
               how == Gone::kCut || how == Gone::kPaused ? CallEnding::kOpen
               : how == Gone::kLost                      ? CallEnding::kLost
                                                         : CallEnding::kAbandoned);
  report_gone(co, how);
}

template <class Sink>
template <class F>
void StackMachine<Sink>::each_in_chain(Coroutine& co, F f, uint32_t work_of_link) {
  Coroutine* at = &co;
  uint32_t n = 0;
  for (; at && n <= kMaxChain; n++) {
    f(*at);
    at = resumer_of(*at);
  }
  if (n > 1 && !afford(uint64_t{work_of_link} * n)) unlink_resumers(co);
}

// Forgets who resumed this coroutine and its resumers.
template <class Sink>
void StackMachine<Sink>::unlink_resumers(Coroutine& co) {
  trust_.unbalanced++;
  links_++;
  for (Coroutine* at = &co; at && at->resumed;) {
    at->resumed = false;
    at->resume_depth = 1;
    at = find(at->resumer);
  }
}

template <class Sink>
void StackMachine<Sink>::wake(Coroutine& co, bool resumed) {
  if (co.running) return;
  uint64_t ticks = now_ - co.since;
  if constexpr (Sink::kFrames)
    sink_.suspended(co, co.since, now_, resumed);
  else if (co.top)
    sink_.suspended(co.frames[co.top].node, ticks);
  co.suspended += ticks;
  co.running = true;
}

template <class Sink>
void StackMachine<Sink>::sleep(Coroutine& co) {
  if (!co.running) return;
  co.running = false;
  co.since = now_;
}

// Moves the coroutine's calls in the call tree to below the call that resumed it.
template <class Sink>
void StackMachine<Sink>::attach(Coroutine& co) {
  Coroutine* by = resumer_of(co);
  co.outside = co.hidden ? Coroutine::Outside::kUnknown
               : !by ? co.resumer_unknown ? Coroutine::Outside::kUnknown : Coroutine::Outside::kIdle
               : by->top ? Coroutine::Outside::kCall
                         : by->outside;
  uint32_t base;
  if constexpr (Sink::kFrames)
    base = sink_.base(co, by);
  else
    base = by ? sink_.enter_base(by->frames[by->top].node, kCoroutineFunction) : 0;
  if (co.hidden || (co.resumer_unknown && !by)) base = sink_.enter_base(base, kUnknownFunction);
  if (co.frames[0].node == base) return report_attached(co, false);
  if (!may_move(co.top)) return report_attached(co, false);
  co.frames[0].node = base;
  for (uint32_t i = 1; i <= co.top; i++) {
    Frame& f = co.frames[i];
    f.node = sink_.enter_again(co.frames[i - 1].node, f.node, ids_(f.id));
  }
  report_attached(co, true);
}

// Reattaches the running coroutines, outermost first.
template <class Sink>
void StackMachine<Sink>::reattach() {
  std::vector<Coroutine*> chain;
  each_in_chain(
      *cur_, [&](Coroutine& c) { chain.push_back(&c); }, kWorkOfLink);
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) attach(**at);
}

template <class Sink>
void StackMachine<Sink>::enter_all(Coroutine& co, uint32_t base) {
  if (co.hidden || (co.resumer_unknown && base == 0))
    base = sink_.enter_base(base, kUnknownFunction);
  co.frames[0].node = base;
  for (uint32_t i = 1; i <= co.top; i++) {
    Frame& f = co.frames[i];
    f.node = sink_.enter_again(co.frames[i - 1].node, f.node, ids_(f.id));
  }
}

template <class Sink>
void StackMachine<Sink>::settle() {
  static_assert(!Sink::kFrames);
  for (auto& [id, co] : coroutines_) {
    if (co->running || co->since > now_) continue;
    if (co->top) sink_.suspended(co->frames[co->top].node, now_ - co->since);
    co->suspended += now_ - co->since;
    co->since = now_;
  }
}

// The nodes of suspended coroutines are below the root until they are attached again.
template <class Sink>
void StackMachine<Sink>::restart() {
  static_assert(!Sink::kFrames);
  traced_ = gap_ = 0;
  cpu_.unknown = cpu_.preempted = cpu_.cut = 0;
  first_ = begun_ = known_since_ = now_;
  absent_ = 0;
  std::vector<Coroutine*> chain;
  each_in_chain(
      *cur_, [&](Coroutine& c) { chain.push_back(&c); }, 0);
  for (auto& [id, co] : coroutines_) enter_all(*co, 0);
  for (size_t i = chain.size(); i-- > 1;) {
    Coroutine& by = *chain[i];
    enter_all(*chain[i - 1], sink_.enter_base(by.frames[by.top].node, kCoroutineFunction));
  }
}

template <class Sink>
void StackMachine<Sink>::thread(ThreadId tid) {
  threads_.insert(tid);
  if constexpr (Sink::kFrames) {
    sink_.on_thread(tid);
    reattach();
  }
}

// Makes `co` current: it and its resumers run, other coroutines do not change. Those that wake are
// attached, outermost first, below the current call of their resumer, which may have changed.
template <class Sink>
void StackMachine<Sink>::set_current(Coroutine* co) {
  cur_ = co;
  woken_.clear();
  // If a coroutine runs, so do its resumers: n nested coroutines do not cost n^2 steps.
  for (Coroutine* at = co; at && !at->running; at = resumer_of(*at)) {
    wake(*at);
    woken_.push_back(at);
  }
  if (woken_.size() > 1 && !afford(kWorkOfWaking * woken_.size())) unlink_resumers(*co);
  while (woken_.size() > 1) attach(*woken_.back()), woken_.pop_back();
  attach(*co);
}

template <class Sink>
void StackMachine<Sink>::switch_to(Coroutine& to) {
  if (&to == cur_) return;
  Coroutine& from = *cur_;
  if constexpr (requires { sink_.switched(from, to); }) sink_.switched(from, to);
  each_in_chain(
      from, [&](Coroutine& c) { sleep(c); }, kWorkOfLink);
  set_current(&to);
  if (from.id == kUnknownCoroutine && !from.running) leave_unnamed();
}

// After a gap the unnamed coroutine is a different one each time: its calls must not be taken for
// those of the next.
template <class Sink>
void StackMachine<Sink>::leave_unnamed() {
  Coroutine* co = gap_seen_ ? find(kUnknownCoroutine) : nullptr;
  if (!co) return;
  cut(*co, trust_.open_gap, Gone::kLost);
  erase(kUnknownCoroutine);
}

template <class Sink>
void StackMachine<Sink>::resume(CoroutineId id) {
  note(Note::kResume, cur_->top, id);
  Coroutine* co = get(id);
  if (co->running || cur_->resume_depth >= kMaxChain) {
    trust_.unbalanced++;
    return switch_to(*co);
  }
  co->resumed = true;
  co->resumer_unknown = false;
  co->resumer = cur_->id;
  co->resumer_serial = cur_->serial;
  co->resume_depth = cur_->resume_depth + 1;
  wake(*co);
  co->yielded = kNotSeen;
  cur_ = co;
  attach(*co);
}

template <class Sink>
void StackMachine<Sink>::suspend(uint32_t status) {
  Coroutine& co = *cur_;
  if (status == LTS_ERROR) end_by_error(co, 0);
  if (status == LTS_DONE) end_sections(co, true), carried_.clear(), drop_to(co, 0);
  if (status > LTS_ERROR) trust_.bad_records++;
  note(Note::kSuspend, co.top, status);
  Coroutine* next = resumer_of(co);
  if constexpr (requires { sink_.yielded(co, next); })
    if (status == LTS_YIELD) sink_.yielded(co, next);
  co.resumed = false;
  co.yielded = status == LTS_YIELD ? now_ : kNotSeen;
  co.resume_depth = 1;
  sleep(co);
  const CoroutineId id = co.id;
  cur_ = nullptr;
  if (status == LTS_DONE || status == LTS_ERROR) {
    if (next == &co) next = nullptr;
    report_gone(co, status == LTS_DONE ? Gone::kDone : Gone::kError);
    erase(id);
  }
  if (!next) leave_unnamed();
  set_current(next ? next : get(kUnknownCoroutine));
}

template <class Sink>
void StackMachine<Sink>::stack(CoroutineId id, uint64_t calls, uint32_t reason) {
  Coroutine* co = get(id);
  switch_to(*co);
  if (co->hidden || is_assumed(*co, 1))
    forget_calls(*co);
  else
    drop_to(*co, 0);
  co->hidden = 0;
  attach(*co);
  pending_ = calls;
  note(Note::kStack, 0, reason);
}

template <class Sink>
void StackMachine<Sink>::loss(const Record& r) {
  const uint64_t said = std::max(latest(), unwrap(latest(), lt_time(r.word)));
  const uint64_t until = std::min(said, std::max(latest(), block_end_));
  // The start of the gap is known already if the block opens with the loss; and if a report is
  // incomplete, nothing is known since its start.
  uint64_t since = opens_with_loss_ || reports() ? now_ : r.words[1];
  opens_with_loss_ = false;
  // The first lost event may be as old as the last one seen, but not older.
  trust_.clock_anomalies +=
      since > until || (since < now_ && now_ - since >= kTimeHalf) || said > until;
  since = std::clamp(since, now_, until);
  add_self_time_until(since);
  uint64_t lost = r.words[0] - 1;
  trust_.lost += lost;
  trust_.lost_at_least += (r.arg & LT_LOSS_LEAST) != 0;
  trust_.bad_records += lost == 0;
  note(Note::kLoss, cur_->top, lost);
  gap_until(until);
}

template <class Sink>
void StackMachine<Sink>::create(CoroutineId id) {
  note(Note::kCreate, cur_->top, id);
  Coroutine* old = find(id);
  if (old && (old->running || old->top)) {
    trust_.unbalanced++;
    return;
  }
  Coroutine* co = get(id);
  co->hidden = 0;
  co->labels = cur_->labels;
  if constexpr (Sink::kFrames) sink_.created(*cur_, *co, now_);
}

template <class Sink>
void StackMachine<Sink>::collect(CoroutineId id) {
  note(Note::kCollect, cur_->top, id);
  Coroutine* co = find(id);
  if (!co) return;
  if (co->running) {
    trust_.unbalanced++;
    return;
  }
  if constexpr (Sink::kFrames)
    sink_.suspended(*co, co->since, now_, false);
  else if (co->top)
    sink_.suspended(co->frames[co->top].node, now_ - co->since);
  trust_.abandoned += co->top - co->sections;
  while (co->top) {
    if constexpr (Sink::kNotes)
      sink_.note({Note::kAbandon, id, co->top, ids_(co->frames[co->top].id)});
    end_top(*co);
  }
  report_gone(*co, Gone::kCollected);
  erase(id);
}

template <class Sink>
void StackMachine<Sink>::request(CoroutineId id, uint64_t request) {
  if (id == kUnknownCoroutine || id == kNoCoroutine) return static_cast<void>(trust_.bad_records++);
  Coroutine& co = *get(id);
  if constexpr (requires { sink_.request(*cur_, co, request); }) sink_.request(*cur_, co, request);
}

// The first record of a ring block. It names the coroutine that is current there, which after a
// loss differs from that of the words before. Needed only if the current coroutine is unknown.
template <class Sink>
void StackMachine<Sink>::ring_block(CoroutineId id, ThreadId tid) {
  thread(tid);
  const bool named = id != kUnknownCoroutine && id != kNoCoroutine;
  if (cur_->id == kUnknownCoroutine && named && !pending_) switch_to(*get(id));
}

}  // namespace luatrace::analyze
