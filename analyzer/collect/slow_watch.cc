// SPDX-License-Identifier: MIT
#include "analyzer/collect/slow_watch.h"

#include <utility>

namespace luatrace::analyze {

bool SlowWatch::is_asked_for(uint32_t function) {
  if (function >= known_.size()) known_.resize(2 * size_t{function} + 64);
  uint8_t& known = known_[function];
  if (known == 0) known = plan_.slow.matches(placement_.described(function)) ? 2 : 1;
  return known == 2;
}

void SlowWatch::give_up(Coroutine& co) {
  calls_->leave_out();
  calls_->drop(co.watched);
  co.watched = 0;
  watched_--;
}

void SlowWatch::suspended(const Coroutine& co, uint32_t node, uint64_t ticks) {
  if (co.watched) calls_->add(co.watched, shown_, root(co), node, {0, 0, 0, 0, ticks});
}

void SlowWatch::end(Coroutine& co, SlowCall call, uint64_t now, const Clock& clock, bool counts) {
  if (!co.watched || calls_->depth(co.watched) != co.top) return;
  if (counts && now <= plan_.to)
    calls_->finish(co.watched, std::move(call), now, clock);
  else
    calls_->drop(co.watched);
  co.watched = 0;
  watched_--;
}

}  // namespace luatrace::analyze
