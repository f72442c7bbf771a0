// SPDX-License-Identifier: MIT
// StackMachine: the times and iterations of compiled code (segment_body.h).
#pragma once

#include <algorithm>
#include <utility>

#include "analyzer/machine/machine.h"

namespace luatrace::analyze {

template <class Sink>
void StackMachine<Sink>::cue(const SegmentCue& cue) {
  switch (cue.kind) {
    case SegmentCue::kApportioned:
      end_apportioned(cue.tick);
      outer_ = cur_->top;
      return;
    case SegmentCue::kExact:
      return end_apportioned(cue.tick);
    case SegmentCue::kRepeat:
      if (!multiply(cue)) write_out(cue);
  }
}

// The time until this tick is of the kind of before: it ends.
template <class Sink>
void StackMachine<Sink>::end_apportioned(uint64_t tick) {
  if (may_run() && tick > now_ && tick <= block_end_) add_self_time_until(tick);
  outer_ = kExactTime;
  cur_->inside = false;
}

// Iterations are multiplied if the sink needs no single calls, and the machine would handle all
// their events in its fast loop. False if not.
template <class Sink>
bool StackMachine<Sink>::multiply(const SegmentCue& cue) {
  if constexpr (requires { sink_.repeated(0, kNoFunction, 0, 0); }) {
    if (!may_run() || now_ > block_end_ || cur_->ended) return false;
    if constexpr (requires { sink_.takes_repeats(); })
      if (!sink_.takes_repeats()) return false;
    if (cue.tick < now_ || cue.tick - now_ + cue.all_ticks() > until_border()) return false;
    if constexpr (!Sink::kFrames) {
      add_repeated(cue);
    } else {
      if (!sink_.takes_runs() || cur_->top == 0 || !sink_.begin_run(*this, block_end_))
        return false;
      const uint64_t from = now_;
      add_repeated(cue);
      sink_.end_run(from, now_);
    }
    return true;
  } else {
    return false;
  }
}

// Callers come before their callees: downwards for their nodes, upwards for the sums.
template <class Sink>
void StackMachine<Sink>::add_repeated(const SegmentCue& cue) {
  const SegmentBody& body = *cue.body;
  const size_t calls = body.calls.size(), events = body.events.size();
  nodes_.assign(calls, cur_->frames[cur_->top].node);
  ticks_.assign(calls, 0);
  ticks_[0] = cue.tick - now_;
  uint64_t before = 0;
  for (size_t i = 0; i <= events; i++) {
    const uint64_t until = SegmentBody::until(*cue.first_code, i, cue.first_ticks) +
                           SegmentBody::until(body.code, i, cue.ticks);
    ticks_[body.innermost[i]] += until - std::exchange(before, until);
  }
  pass_self_time(nodes_[0], ticks_[0]);
  for (size_t i = 1; i < calls; i++) {
    const SegmentBody::Call& call = body.calls[i];
    nodes_[i] = sink_.enter(nodes_[call.caller], ids_(call.function));
    pass_self_time(nodes_[i], ticks_[i]);
  }
  for (size_t i = calls - 1; i > 0; i--) {
    const SegmentBody::Call& call = body.calls[i];
    sink_.repeated(nodes_[i], ids_(call.function), cue.all_times(), ticks_[i]);
    ticks_[call.caller] += ticks_[i];
  }
  now_ = cue.tick + cue.all_ticks();
  records_ += cue.all_times() * events;
}

// As words, some at a time.
template <class Sink>
void StackMachine<Sink>::write_out(const SegmentCue& cue) {
  constexpr size_t kWords = 16384;
  const SegmentBody& body = *cue.body;
  const size_t events = body.events.size();
  work_ += kWorkPerWord * events * cue.all_times();
  for (size_t i = 0; i < events; i++)
    written_.push_back((cue.tick + SegmentBody::until(*cue.first_code, i, cue.first_ticks))
                           << LT_TIME_SHIFT |
                       body.events[i]);
  std::vector<uint64_t> share(events + 1);
  uint64_t before = 0;
  for (size_t i = 0; i <= events; i++) {
    const uint64_t until = SegmentBody::until(body.code, i, cue.ticks);
    share[i] = until - std::exchange(before, until);
  }
  uint64_t now = cue.tick + cue.first_ticks;
  const auto flush = [this] {
    words(written_.data(), written_.data() + written_.size());
    written_.clear();
  };
  for (uint64_t turn = 0; turn < cue.times; turn++) {
    for (size_t i = 0; i <= events; i++) {
      now += SegmentBody::share_of(share[i], turn + 1, cue.times) -
             SegmentBody::share_of(share[i], turn, cue.times);
      if (i != events) written_.push_back(now << LT_TIME_SHIFT | body.events[i]);
    }
    if (written_.size() >= kWords) flush();
  }
  flush();
}

}  // namespace luatrace::analyze
