// SPDX-License-Identifier: MIT
#include "analyzer/collect/slow_watch.h"

#include <utility>

namespace luatrace::analyze {

bool SlowWatch::is_selected(FunctionId function) {
  Selected& known = grown(known_, function);
  if (known == Selected::kUnknown)
    known = plan_.slow.matches(placement_.described(function)) ? Selected::kYes : Selected::kNo;
  return known == Selected::kYes;
}

void SlowWatch::give_up(Coroutine& co) {
  calls_->leave_out();
  calls_->drop(co.watched_call);
  co.watched_call = kNoWatch;
  watched_--;
}

void SlowWatch::suspended(const Coroutine& co, NodeId node, uint64_t ticks) {
  if (co.watched_call) calls_->add(co.watched_call, shown_, root(co), node, {0, 0, 0, 0, ticks});
}

void SlowWatch::end(Coroutine& co, SlowCall call, uint64_t now, const Clock& clock, bool counts) {
  if (!co.watched_call || calls_->depth(co.watched_call) != co.top) return;
  if (counts && now <= plan_.to)
    calls_->finish(co.watched_call, std::move(call), now, clock);
  else
    calls_->drop(co.watched_call);
  co.watched_call = kNoWatch;
  watched_--;
}

}  // namespace luatrace::analyze
