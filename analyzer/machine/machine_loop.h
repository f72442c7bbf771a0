// SPDX-License-Identifier: MIT
// StackMachine: blocks, time, and the two loops.
#pragma once

#include <algorithm>
#include <vector>

#include "analyzer/machine/machine.h"
#include "analyzer/machine/machine_segments.h"
#include "analyzer/machine/prefetch.h"

namespace luatrace::analyze {

// Where the sink wants time to stop.
template <class Sink>
uint64_t border_of(const Sink& sink) {
  if constexpr (requires { sink.border(); })
    return sink.border();
  else
    return UINT64_MAX;
}

template <class Sink>
void StackMachine<Sink>::block(const EventBlock& block, std::span<const SegmentCue> cues) {
  if (block.words.empty() && cues.empty()) return;
  work_ += kWorkPerWord * block.words.size();
  start_block(block);
  const uint64_t* const begin = block.words.data();
  size_t at = 0;
  for (const SegmentCue& c : cues) {
    words(begin + at, begin + c.at);
    at = c.at;
    cue(c);
  }
  words(begin + at, begin + block.words.size());
  trust_.events += records_;
  if (!block.cut && records_ != block.count && !bad_logged_) {
    trust_.bad_records++;
    diag_.log(block.offset, "the block has " + std::to_string(records_) +
                                " events, but its header " + "says " + std::to_string(block.count));
  }
}

template <class Sink>
void StackMachine<Sink>::words(const uint64_t* p, const uint64_t* end) {
  bool takes_runs = true;
  if constexpr (Sink::kFrames) takes_runs = sink_.takes_runs();
  while (p != end) {
    if (takes_runs && may_run()) p = fast(p, end);
    if (p != end) p = slow(p, end);
  }
}

// Handles entries, and returns from the call on top. Leaves all other records to slow(), also those
// with an impossible time (before the last record or after the end of the block) and, for sinks
// that follow single calls, what happens while no call is open.
template <class Sink>
const uint64_t* StackMachine<Sink>::fast(const uint64_t* p, const uint64_t* end) {
  if (now_ > block_end_ || cur_->ended) return p;  // A section ends with the next call that does.
  if constexpr (Sink::kFrames) {
    if (cur_->top == 0 || !sink_.begin_run(*this, block_end_)) return p;
    const uint64_t from = now_;
    p = fast_run(p, end);
    sink_.end_run(from, now_);
    return p;
  }
  return fast_run(p, end);
}

template <class Sink>
const uint64_t* StackMachine<Sink>::fast_run(const uint64_t* p, const uint64_t* end) {
  if constexpr (requires { sink_.prefetches(); }) {
    if (sink_.prefetches()) {
      const Frame* base = cur_->frames.data();
      Prefetcher ahead(sink_.machine_tree(), ids_, base, base + cur_->top,
                       base + cur_->frames.size() - 1, p, end);
      return fast_run_of<true>(p, end, &ahead);
    }
  }
  return fast_run_of<false>(p, end, nullptr);
}

template <class Sink>
template <bool kAhead, class Ahead>
const uint64_t* StackMachine<Sink>::fast_run_of(const uint64_t* p, const uint64_t* end,
                                                Ahead ahead) {
  if (is_apportioned()) return fast_run<kAhead, true>(p, end, ahead);
  return fast_run<kAhead, false>(p, end, ahead);
}

// How much time may pass, less than to the end of the block or the sink's border.
template <class Sink>
uint64_t StackMachine<Sink>::until_border() const {
  return std::min({block_end_ - now_, kTimeHalf - 1, border_of(sink_) - 1 - now_});
}

template <class Sink>
template <bool kAhead, bool kApportioned, class Ahead>
const uint64_t* StackMachine<Sink>::fast_run(const uint64_t* p, const uint64_t* end, Ahead ahead) {
  Coroutine& co = *cur_;
  Frame* const base = co.frames.data();
  Frame* const limit = base + co.frames.size() - 1;
  Frame* top = base + co.top;
  const uint64_t suspended = co.suspended;
  const uint64_t *const from = p, *turn = p;  // turn: where to call advance() again.
  uint64_t now = now_, left = until_border();
  uint32_t node = top->node;
  bool ends = false;
  for (; p != end && !ends; ++p) {
    if constexpr (kAhead)
      if (p == turn && (turn = ahead->advance(p)) == p) break;
    const uint64_t w = *p;
    const uint64_t delta = ((w >> LT_TIME_SHIFT) - now) & kTimeMask;
    const uint32_t kind = lt_kind(w);
    const VmFunctionId id(lt_payload(w));
    if (delta > left || id == LT_PAYLOAD_BIG) break;
    if (kind == LT_ENTRY) {
      if (top == limit) break;
      now += delta;
      left -= delta;
      pass_self_time<kApportioned>(node, delta);
      const FunctionId function = ids_(id);
      if constexpr (kAhead)
        node = sink_.enter(node, function, ahead->hash(p));
      else
        node = sink_.enter(node, function);
      *++top = {now - suspended, node, id};
      if constexpr (Sink::kFrames)
        sink_.run_opened(co, static_cast<uint32_t>(top - base), now);
      else
        sink_.call(node);
      note(Note::kEntry, static_cast<uint32_t>(top - base), function);
    } else if (kind == LT_RETURN) {
      if (top->id != id) break;
      now += delta;
      left -= delta;
      pass_self_time<kApportioned>(node, delta);
      const bool seen = top->start != kNotSeen;
      const uint64_t running = seen ? now - suspended - top->start : kNotSeen;
      const bool inside = kApportioned && ends_inside(static_cast<uint32_t>(top - base), outer_);
      if constexpr (Sink::kFrames && kApportioned) co.inside = inside;
      if constexpr (Sink::kFrames)
        sink_.run_closed(co, static_cast<uint32_t>(top - base), now, running);
      else if (seen)
        report_ended(inside, node, ids_(id), running);
      note(Note::kReturn, static_cast<uint32_t>(top - base), ids_(id));
      --top;
      node = top->node;
      ends = Sink::kFrames && top == base;
    } else {
      break;
    }
  }
  co.top = static_cast<uint32_t>(top - base);
  now_ = now;
  records_ += static_cast<uint64_t>(p - from);
  return p;
}

template <class Sink>
const uint64_t* StackMachine<Sink>::slow(const uint64_t* p, const uint64_t* end) {
  Record r;
  if (!read_record(p, static_cast<size_t>(end - p), r)) {
    trust_.bad_records++;
    if (!bad_logged_)
      diag_.log(block_offset_,
                "malformed event word in this block of stream " + std::to_string(stream_));
    bad_logged_ = true;
    return p + r.length;
  }
  records_++;
  if (r.kind == LT_EXT && r.sub == LTX_PAD) return p + r.length;  // Has no time.
  if (paused_ && begins_recording(r)) stop();
  take_time(r);
  handle(r);
  return p + r.length;
}

// Checks the sequence, and sets the high bits of the clock before the first word.
template <class Sink>
void StackMachine<Sink>::start_block(const EventBlock& block) {
  records_ = 0;
  bad_logged_ = opens_with_loss_ = false;
  block_offset_ = block.offset;
  block_end_ = block.end_tick;
  uint64_t base = block.base_tick;
  if (base > block.end_tick || (recording_ && base < now_ && now_ - base >= kTimeHalf)) {
    trust_.clock_anomalies++;
    diag_.log(block.offset, "the times in the block's header are invalid");
    base = latest();
    block_end_ = UINT64_MAX;
  }
  uint64_t first = base;  // An LT_EXT may have a full clock, or no time.
  if (!block.words.empty() && lt_kind(block.words[0]) != LT_EXT)
    first += ((block.words[0] >> LT_TIME_SHIFT) - base) & kTimeMask;
  bool missing = block.seq != next_seq_;
  if (paused_ && (missing || (block.flags & LT_BLOCK_F_GAP))) stop();
  next_seq_ = block.seq + 1;
  if (missing || (block.flags & LT_BLOCK_F_GAP)) {
    trust_.missing_blocks++;
    diag_.log(block.offset, missing ? "blocks of stream " + std::to_string(stream_) +
                                          " are missing before this one"
                                    : "the recorder left out events before this block");
    gap_until(first);
    resync(block);
  } else if (!recording_) {
    if (!paused_) now_ = base;
  } else if (base > latest()) {
    const uint64_t gap_start = gap_start_before(block, base);
    opens_with_loss_ = gap_start < base;
    if (reports() && !opens_with_loss_) held_ = base;
    if (!reports()) add_self_time_until(gap_start);
    if (opens_with_loss_) gap_until(base);
  }
}

// Takes the current coroutine and its number of open calls from the block's header, for use where
// the words do not say them.
template <class Sink>
void StackMachine<Sink>::resync(const EventBlock& block) {
  if (block.coroutine == kUnknownCoroutine) return;
  Coroutine* co = get(block.coroutine);
  co->resumer_unknown = true;
  switch_to(*co);
  if (cur_->hidden) set_hidden(*cur_, block.depth);
}

// The VM starts a new ring block when there is space again, and first records what was lost.
// Returns since when, from the last known tick to `base`, the block's own time; `base` if nothing
// was lost.
template <class Sink>
uint64_t StackMachine<Sink>::gap_start_before(const EventBlock& block, uint64_t base) {
  Record r;
  for (auto words = block.words; !words.empty(); words = words.subspan(r.length)) {
    if (!read_record(words.data(), words.size(), r) || r.kind != LT_EXT) break;
    if (r.sub == LTX_LOSS) {
      const uint64_t since = r.words[1], last = latest();
      trust_.clock_anomalies += since < last && last - since >= kTimeHalf;
      return std::clamp(since, last, base);
    }
    if (r.sub != LTX_PAD && r.sub != LTX_BLOCK && r.sub != LTX_TIME && r.sub != LTX_THREAD) break;
  }
  return base;
}

template <class Sink>
void StackMachine<Sink>::take_time(const Record& r) {
  uint64_t tick;
  if (r.kind == LT_EXT && r.sub == LTX_LOSS) return;  // loss() takes the time.
  if (!r.full_clock(tick)) tick = unwrap(latest(), lt_time(r.word));
  if (tick < latest() || tick > block_end_) {
    if (recording_ || tick > block_end_) trust_.clock_anomalies++;
    links_++;  // The sink does not see the time between the previous record and this one.
    return;
  }
  if (r.kind == LT_EXT && r.sub == LTX_START) stop();  // The time before it is not traced.
  if (paused_) return;
  if (pending_ || (torn_ && (r.kind == LT_FRAME || (reports() && is_aside(r)))))
    return static_cast<void>(held_ = tick);
  if (recording_) add_self_time_until(tick);
  now_ = tick;
}

// Time passes until `tick`: calls pass(to) for it, in parts if the sink has borders.
template <class Sink>
template <class Pass>
void StackMachine<Sink>::pass_until(uint64_t tick, Pass pass) {
  if constexpr (requires { sink_.border(); }) {
    while (tick >= sink_.border() && sink_.border() != UINT64_MAX) {
      pass(sink_.border());
      now_ = sink_.border();
      settle();
      sink_.cross(coroutines_.size());
    }
  }
  pass(tick);
  now_ = tick;
}

template <class Sink>
void StackMachine<Sink>::add_self_time_until(uint64_t tick) {
  pass_until(tick, [&](uint64_t to) {
    if constexpr (Sink::kFrames)
      sink_.add_self_time(*this, now_, to);
    else
      pass_self_time(cur_->frames[cur_->top].node, to - now_);
  });
}

template <class Sink>
void StackMachine<Sink>::begin(uint64_t tick) {
  recording_ = true;
  begun_ = now_ = known_since_ = tick;
  absent_ = 0;
  if (!began_once_) first_ = tick;
  began_once_ = true;
  if constexpr (requires { sink_.begins(tick); }) sink_.begins(tick);
  set_current(cur_);
}

// Closes all calls now and counts them. Forgets every coroutine: those that appear later may have
// calls whose beginning was not seen if this is a gap, but not if it is the end of a recording. The
// youngest coroutine goes first, since resumed coroutines are mostly younger; the container's own
// order varies between runs.
template <class Sink>
void StackMachine<Sink>::cut(uint64_t& counter, Gone how) {
  const bool gap = how == Gone::kLost;
  std::vector<Coroutine*> all;
  all.reserve(coroutines_.size());
  for (auto& [id, co] : coroutines_) all.push_back(co.get());
  std::sort(all.begin(), all.end(),
            [](const Coroutine* a, const Coroutine* b) { return a->id > b->id; });
  if constexpr (requires { sink_.cuts(gap); }) sink_.cuts(how != Gone::kCut);
  for (Coroutine* co : all) cut(*co, counter, how);
  // Not clear(), whose time grows with the largest number of coroutines that there ever was.
  decltype(coroutines_)().swap(coroutines_);
  links_++;
  pending_ = held_ = 0;
  gap_seen_ = torn_ = gap;
  cur_ = get(kUnknownCoroutine);
}

// pauses: another recording of this Lua VM may follow, see rejoin().
template <class Sink>
void StackMachine<Sink>::stop(bool pauses) {
  if (!recording_ && !paused_) return;
  if (recording_) traced_ += now_ - begun_;
  recording_ = false;
  paused_ = pauses;
  if (!pauses) cut(trust_.open_end, Gone::kCut);
}

// The calls end at the pause: what happened since is not known, and no time of theirs.
template <class Sink>
void StackMachine<Sink>::rejoin() {
  paused_ = false;
  cut(trust_.open_end, Gone::kPaused);
  ids_.forget();
  next_seq_ = 0;
}

template <class Sink>
void StackMachine<Sink>::finish() {
  stop();
}

// Nothing is known of the time until `tick`, nor of any stack after it. How the calls that were
// open ended is unknown, too: that is part of this anomaly, not another one.
template <class Sink>
void StackMachine<Sink>::gap_until(uint64_t tick) {
  cut(trust_.open_gap, Gone::kLost);
  if (!recording_) return begin(tick);
  if (tick > now_) {
    pass_until(tick, [&](uint64_t to) {
      if constexpr (requires { sink_.gap(now_, to); }) sink_.gap(now_, to);
      gap_ += to - now_;
    });
    known_since_ = tick;
    absent_ = 0;
  }
  set_current(cur_);
}

}  // namespace luatrace::analyze
