// SPDX-License-Identifier: MIT
// StackMachine: how each kind of record is processed.
#pragma once

#include <algorithm>
#include <utility>

#include "analyzer/machine/machine.h"
#include "luatrace_watch.h"

namespace luatrace::analyze {

// Function ids are below those of sections; a larger value becomes the unknown function.
inline VmFunctionId function_id(uint64_t value) {
  return value < kFirstSection ? VmFunctionId(static_cast<uint32_t>(value)) : kUnknownVmFunction;
}

// The coroutine in the lower half of a continuation word.
inline CoroutineId coroutine_id(uint64_t word) {
  return CoroutineId(lt_lo(word));
}

// False for records that may stand outside a recording; any other shows that it has begun.
inline bool begins_recording(const Record& r) {
  return r.kind != LT_EXT || !(r.sub == LTX_START || r.sub == LTX_STOP || r.sub == LTX_BLOCK ||
                               r.sub == LTX_TIME || r.sub == LTX_THREAD);
}

// Records that do not concern stacks: they may stand anywhere, even inside a report of a stack.
inline bool is_aside(const Record& r) {
  if (r.kind != LT_EXT) return false;
  switch (r.sub) {
    case LTX_UNWIND:
    case LTX_CREATE:
    case LTX_COLLECT:
    case LTX_SWITCH:
    case LTX_STACK:
    case LTX_LOSS:
    case LTX_START:
    case LTX_STOP:
      return false;
    default:
      return true;
  }
}

template <class Sink>
void StackMachine<Sink>::handle(const Record& r) {
  if (!recording_ && begins_recording(r)) begin(now_);
  if (is_aside(r)) return handle_ext(r);
  if (r.kind != LT_FRAME) {
    // The lost events may be the rest of the report; a recording may end anywhere.
    const bool cut = r.kind == LT_EXT && (r.sub == LTX_LOSS || r.sub == LTX_STOP);
    if (pending_ && !cut) end_report(false);
    if (r.kind != LT_EXT || (r.sub != LTX_SWITCH && r.sub != LTX_LOSS)) torn_ = false;
  }
  switch (r.kind) {
    case LT_ENTRY:
      return entry(function_id(r.value));
    case LT_RETURN:
      return leave(function_id(r.value), Note::kReturn);
    case LT_TAIL:
      return leave(function_id(r.value), Note::kTail);
    case LT_FRAME:
      return frame(function_id(r.value));
    case LT_RESUME:
      return resume(coroutine_id(r.value));
    case LT_SUSPEND:
      return suspend(static_cast<uint32_t>(r.value));
    default:
      return handle_ext(r);
  }
}

template <class Sink>
void StackMachine<Sink>::handle_ext(const Record& r) {
  switch (r.sub) {
    case LTX_BLOCK:
      return ring_block(coroutine_id(r.words[1]), ThreadId(lt_lo(r.words[2])));
    case LTX_UNWIND:
      if (r.arg == 1) return unwind_to(lt_lo(r.words[0]) - 1, VmFunctionId(lt_hi(r.words[0])));
      return unwind(lt_lo(r.words[0]), VmFunctionId(lt_hi(r.words[0])));
    case LTX_CREATE:
      return create(coroutine_id(r.words[0]));
    case LTX_COLLECT:
      return collect(coroutine_id(r.words[0]));
    case LTX_REQUEST:
      return request(coroutine_id(r.words[0]), r.words[1] - 1);
    case LTX_MARK:
      return mark(r);
    case LTX_LABEL:
      return label(r);
    case LTX_SWITCH:
      note(Note::kSwitch, cur_->top, lt_lo(r.words[0]));
      return switch_to(*get(coroutine_id(r.words[0])));
    case LTX_STACK:
      return stack(coroutine_id(r.words[0]), r.words[1] - 1, r.arg);
    case LTX_LOSS:
      return loss(r);
    case LTX_THREAD:
      note(Note::kThread, cur_->top, lt_lo(r.words[0]));
      return thread(ThreadId(lt_lo(r.words[0])));
    case LTX_START:
      stop();
      begin(now_);
      attached_ = r.arg == LT_START_ATTACHED;
      return note(Note::kStart, 0, lt_lo(r.words[1]));
    case LTX_STOP:
      note(Note::kStop, cur_->top, r.arg);
      return stop(r.arg == LTE_DETACH);
    case LTX_CPU:
      return cpu(r);
    case LTX_TIME:
    case LTX_WATCH:  // Values, for people.
    case LTX_GC:     // Collector and compiler are calls; these records only say more of them.
    case LTX_TRACE:
      return;
    default:
      trust_.unknown++;
  }
}

// The time of a record. All absences together are no longer than the time that passed: the rest is
// counted, unless nothing is known of that time anyway. A single one is not compared with the
// events around it, because the recorder may learn of it late (recorder/drain/cpu_time.cc).
template <class Sink>
uint64_t StackMachine<Sink>::absence(const Record& r) {
  const uint64_t passed = now_ - std::min(now_, known_since_);
  const uint64_t known = std::min(r.words[0], passed);
  const uint64_t ticks = std::min(known, passed - std::min(passed, absent_));
  cpu_.cut += known - ticks;
  absent_ += ticks;
  return ticks;
}

// For so long until now the thread did not run, or it is not known whether it did. It is the time
// of what is innermost now.
template <class Sink>
void StackMachine<Sink>::cpu(const Record& r) {
  cpu_.known = true;
  if (!recording_) return;
  if (r.arg >= LTC_UNKNOWN) {
    cpu_.unknown += std::min({r.words[0], now_ - begun_, UINT64_MAX - cpu_.unknown});
    return;
  }
  const uint64_t ticks = absence(r);
  if (r.arg == LTC_PREEMPTED && cur_->top) cpu_.preempted += ticks;
  if constexpr (requires { sink_.off_cpu(*this, ticks); })
    sink_.off_cpu(*this, ticks);
  else if constexpr (requires { sink_.off_cpu(uint32_t{}, ticks); })
    sink_.off_cpu(cur_->frames[cur_->top].node, ticks);
}

// -- Calls --

template <class Sink>
void StackMachine<Sink>::push(Coroutine& co, uint64_t start, VmFunctionId id) {
  if (const size_t size = co.frames.size(); co.top + 1 == size)
    co.frames.resize(size + (size < kDoubledFrames ? size : size / 4));
  uint32_t node = sink_.enter(co.frames[co.top].node, ids_(id));
  co.frames[++co.top] = {start, node, id};
  if constexpr (Sink::kFrames) {
    co.notes.resize(co.frames.size());
    sink_.opened(co, now_, start != kNotSeen);
  }
}

template <class Sink>
void StackMachine<Sink>::entry(VmFunctionId id) {
  push(*cur_, clock(*cur_), id);
  if constexpr (!Sink::kFrames) sink_.call(cur_->frames[cur_->top].node);
  note(Note::kEntry, cur_->top, ids_(id));
}

// Ends the innermost call; its end was seen.
template <class Sink>
void StackMachine<Sink>::end_top(Coroutine& co, [[maybe_unused]] CallEnding ending) {
  const Frame& f = co.frames[co.top];
  const bool seen = f.start != kNotSeen;
  if constexpr (Sink::kFrames) {
    co.ending = ending;
    sink_.closed(co, now_, seen ? clock(co) - f.start : kNotSeen, seen);
  } else if (seen) {
    sink_.ended(f.node, ids_(f.id), clock(co) - f.start);
  }
  forget_section(co, f.id);
  co.top--;
}

// -- Sections: frames among those of calls, which the VM does not count --

template <class Sink>
void StackMachine<Sink>::forget_section(Coroutine& co, VmFunctionId id) {
  co.sections -= is_section(id);
  co.ended -= is_ended_section(id);
}

// How many of the frames above `depth` are calls.
template <class Sink>
uint32_t StackMachine<Sink>::calls_above(const Coroutine& co, uint32_t depth) {
  uint32_t calls = co.top - depth;
  if (co.sections)
    for (uint32_t at = co.top; at > depth; at--) calls -= is_section(co.frames[at].id);
  return calls;
}

// The frame below the `count` innermost calls, and how many of these there are.
template <class Sink>
std::pair<uint32_t, uint32_t> StackMachine<Sink>::below_calls(const Coroutine& co, uint32_t count) {
  if (!co.sections) return {co.top - std::min(count, co.top), std::min(count, co.top)};
  uint32_t at = co.top, known = 0;
  for (; at && known < count; at--) known += !is_section(co.frames[at].id);
  return {at, known};
}

// Ends the sections on top: all, or those that have ended before.
template <class Sink>
void StackMachine<Sink>::end_sections(Coroutine& co, bool all) {
  while (all ? is_section(co.frames[co.top].id) : is_ended_section(co.frames[co.top].id)) {
    carry(co.frames[co.top]);
    note(Note::kReturn, co.top, ids_(co.frames[co.top].id));
    end_top(co);
  }
}

// In which call a section began that is older than the recording is not known: it is above all that
// are open, and when one of these ends, above those that are left, until the last one ends.
template <class Sink>
void StackMachine<Sink>::carry(const Frame& section) {
  if (is_earlier_section(section.id)) carried_.push_back(section.id);
}

template <class Sink>
void StackMachine<Sink>::open_earlier(Coroutine& co) {
  if (carried_.empty()) return;
  if (co.top && afford(kWorkOfMove * carried_.size())) {
    for (auto id = carried_.rbegin(); id != carried_.rend(); ++id) {
      co.sections++;
      push(co, kNotSeen, *id);
    }
  }
  carried_.clear();
}

// A section lasts as long as the call in which it began, and one that another call ends as long as
// that call (docs/semantics.md).
template <class Sink>
void StackMachine<Sink>::mark(const Record& r) {
  if (CoroutineId id(lt_lo(r.words[0])); id != cur_->id || pending_) return;
  Coroutine& co = *cur_;
  const VmFunctionId id = ids_.section(text_of(r.words + 1, r.nwords - 1));
  if (r.arg == LTM_BEGIN && co.sections < kMaxSections) {
    co.sections++;
    return entry(id);
  }
  const VmFunctionId earlier(id | kEarlierSection);
  if (r.arg == LTM_OPEN && co.top && co.sections < kMaxSections) {
    carried_.assign(1, earlier);
    return open_earlier(co);
  }
  uint32_t at = r.arg == LTM_END && co.sections ? find_frame(co, id, co.top) : 0;
  if (at == 0 && r.arg == LTM_END && co.sections) at = find_frame(co, earlier, co.top);
  if (at == 0) return;
  co.frames[at].id = VmFunctionId(id | kEndedSection);
  co.ended++;
  end_sections(co, false);
}

// The labels, with one of them set, or taken away by an empty value.
inline std::shared_ptr<const Labels> with_label(const Labels* old, const LabelRecord& label) {
  auto labels = std::make_shared<Labels>();
  if (old)
    for (const Label& l : *old)
      if (l.key != label.key) labels->push_back(l);
  if (!label.value.empty() && labels->size() < kMaxLabels)
    labels->push_back({label.key, label.value});
  return labels->empty() ? nullptr : labels;
}

template <class Sink>
void StackMachine<Sink>::label(const Record& r) {
  const LabelRecord label(r);
  const CoroutineId id(label.coroutine);
  if (id == kUnknownCoroutine || id == kNoCoroutine) return static_cast<void>(trust_.bad_records++);
  if constexpr (requires(Coroutine & co) { sink_.labeled(co, co); }) {
    Coroutine& co = *get(id);
    co.labels = r.arg == LTL_CLEAR ? nullptr : with_label(co.labels.get(), label);
    sink_.labeled(*cur_, co);
  }
}

// -- Ends that were not seen --

// For sinks that handle unseen ends: all calls above `depth` end here, whatever the reason.
template <class Sink>
void StackMachine<Sink>::close_unseen(Coroutine& co, uint32_t depth,
                                      [[maybe_unused]] CallEnding ending) {
  co.ending = ending;
  for (; co.top > depth; co.top--) {
    const Frame& f = co.frames[co.top];
    const uint64_t running = f.start == kNotSeen ? kNotSeen : clock(co) - f.start;
    if constexpr (Sink::kFrames)
      sink_.closed(co, now_, running, false);
    else if constexpr (requires { sink_.cut(f.node, running); })
      sink_.cut(f.node, running);
    else if (!co.sections)
      return;
    forget_section(co, f.id);
  }
}

// The calls above `depth` must have ended unseen.
template <class Sink>
void StackMachine<Sink>::drop_to(Coroutine& co, uint32_t depth) {
  trust_.truncated += calls_above(co, depth);
  close_unseen(co, depth);
  co.top = depth;
}

// Returns whether the call at depth `at`, if there is one, is only assumed to be open.
template <class Sink>
bool StackMachine<Sink>::is_assumed(const Coroutine& co, uint32_t at) {
  return co.top >= at && at > 0 && co.frames[at].start < co.assumed_until;
}

// What was known of the stack since a gap is void: its calls are part of that gap.
template <class Sink>
void StackMachine<Sink>::forget_calls(Coroutine& co) {
  trust_.open_gap += co.top - co.sections;
  close_unseen(co, 0, CallEnding::kLost);
  co.top = 0;
}

// The assumption was wrong: as many calls are open, but it is unknown which.
template <class Sink>
void StackMachine<Sink>::forget_assumed(Coroutine& co) {
  const uint32_t calls = co.top - co.sections;
  forget_calls(co);
  if (co.hidden != LT_DEPTH_UNKNOWN) set_hidden(co, co.hidden + calls);
}

// Returns the depth of the innermost open call of function `id` at or below `from`, 0 if none.
template <class Sink>
uint32_t StackMachine<Sink>::find_frame(const Coroutine& co, VmFunctionId id, uint32_t from) {
  const uint32_t max = work_ ? kMaxSearch : kMinSearch;
  const uint32_t stop = from > max ? from - max : 0;
  uint32_t at = from;
  while (at > stop && co.frames[at].id != id) at--;
  afford(from - at);
  return at > stop ? at : 0;
}

template <class Sink>
void StackMachine<Sink>::leave(VmFunctionId id, Note::Kind kind) {
  Coroutine& co = *cur_;
  if (co.sections) end_sections(co, true);
  end_call(co, id, kind);
  if (co.ended) end_sections(co, false);
  open_earlier(co);
}

template <class Sink>
void StackMachine<Sink>::end_call(Coroutine& co, VmFunctionId id, Note::Kind kind) {
  uint32_t at = find_frame(co, id, co.top);
  if (at < co.top && is_assumed(co, co.top)) forget_assumed(co), at = 0;
  if (at == 0) {
    const bool inferred = co.hidden && co.top == 0;
    ++(inferred ? trust_.inferred : trust_.unbalanced);
    if (inferred && co.hidden != LT_DEPTH_UNKNOWN) set_hidden(co, co.hidden - 1);
    return note(kind, 0, ids_(id));
  }
  if (at < co.top) drop_to(co, at);
  note(kind, at, ids_(id));
  end_top(co, kind == Note::kTail ? CallEnding::kTail : CallEnding::kReturn);
}

template <class Sink>
void StackMachine<Sink>::frame(VmFunctionId id) {
  if (pending_ == 0 && !torn_) trust_.unbalanced++;
  if (!gap_seen_) trust_.open_start++;
  push(*cur_, kNotSeen, id);
  note(Note::kFrame, cur_->top, ids_(id));
  if (pending_ && --pending_ == 0) end_report(true);
}

// The time that it took to write the report passes, with the stack as it is now.
template <class Sink>
void StackMachine<Sink>::end_report(bool complete) {
  if (!complete) trust_.unbalanced++;
  pending_ = 0;
  if (held_ > now_) add_self_time_until(held_);
  held_ = 0;
}

// From now on `calls` open calls of this coroutine are unknown.
template <class Sink>
void StackMachine<Sink>::set_hidden(Coroutine& co, uint32_t calls) {
  const bool changes = (calls == 0) != (co.hidden == 0);
  co.hidden = calls;
  if (changes) attach(co);
}

template <class Sink>
void StackMachine<Sink>::end_by_error(Coroutine& co, uint32_t depth) {
  trust_.unwound += calls_above(co, depth);
  while (co.top > depth) {
    carry(co.frames[co.top]);
    note(Note::kUnwind, co.top, ids_(co.frames[co.top].id));
    end_top(co, CallEnding::kError);
  }
  if (co.ended) end_sections(co, false);
  open_earlier(co);
}

template <class Sink>
void StackMachine<Sink>::unwind(uint32_t count, VmFunctionId id) {
  Coroutine& co = *cur_;
  const auto [keep, known] = below_calls(co, count);
  const uint32_t more = count - known;
  const uint32_t inferred = std::min(more, co.hidden);
  trust_.inferred += inferred;
  trust_.unbalanced += more > inferred;
  end_by_error(co, keep);
  if (inferred && co.hidden != LT_DEPTH_UNKNOWN) set_hidden(co, co.hidden - inferred);
  const auto [below, is_open] = below_calls(co, 1);  // of the innermost call
  if (co.frames[below + is_open].id == id) return;   // The sentinel has kNoVmFunction.
  if (id == kUnknownVmFunction) return;              // The VM did not search that deep.
  if (is_assumed(co, co.top)) return forget_assumed(co);
  const uint32_t at = id == kNoVmFunction ? 0 : find_frame(co, id, co.top);
  if (at || id == kNoVmFunction)
    drop_to(co, at);
  else if (co.top || !co.hidden)
    trust_.unbalanced++;
}

// Ends all calls but the `keep` outermost by an error.
template <class Sink>
void StackMachine<Sink>::unwind_to(uint32_t keep, VmFunctionId id) {
  if (cur_->hidden == LT_DEPTH_UNKNOWN) return unwind_at_unknown_depth(keep, id);
  const uint64_t depth = uint64_t{cur_->hidden} + cur_->top - cur_->sections;
  unwind(depth > keep ? static_cast<uint32_t>(depth - keep) : 0, id);
}

// If the depth is unknown, only the id shows which of the known calls stay open. If none of them
// has this id, it is that of a hidden call, and none stays. In a recursion it is the innermost call
// that called another: the call on top has failed, unless what failed has no events. This is
// assumed; later events that contradict it make the calls unknown. The depth is known afterwards.
template <class Sink>
void StackMachine<Sink>::unwind_at_unknown_depth(uint32_t keep, VmFunctionId id) {
  Coroutine& co = *cur_;
  if (co.sections) end_sections(co, true);
  uint32_t at = co.top ? find_frame(co, id, co.top - 1) : 0;
  if (at == 0 && co.frames[co.top].id == id) at = co.top;
  if (at > keep) at = 0;
  end_by_error(co, at);
  co.assumed_until = clock(co);
  co.resumer_unknown = true;  // Its resumer is still unknown.
  set_hidden(co, keep - (co.top - co.sections));
}

// -- Coroutines --

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
