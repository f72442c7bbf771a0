// SPDX-License-Identifier: MIT
// StackMachine: the calls and sections of a coroutine, and their ends, seen or not.
#pragma once

#include <algorithm>
#include <utility>

#include "analyzer/machine/machine.h"

namespace luatrace::analyze {

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
  const bool inside = is_apportioned() && ends_inside(co.top, outer_);
  if constexpr (Sink::kFrames) {
    co.ending = ending;
    co.inside = inside;
    sink_.closed(co, now_, seen ? clock(co) - f.start : kNotSeen, seen);
    co.inside = false;
  } else if (seen) {
    report_ended(inside, f.node, ids_(f.id), clock(co) - f.start);
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

}  // namespace luatrace::analyze
