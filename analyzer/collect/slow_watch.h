// SPDX-License-Identifier: MIT
// --slow: which calls are watched while they are open, and what each of them is told.
//
// Invariant: a coroutine has at most one call that is watched, the outermost of those asked for;
// each is told of all that happens inside it, also in coroutines that were resumed there.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/collect/observers.h"
#include "analyzer/collect/outer_link.h"
#include "analyzer/collect/placement.h"

namespace luatrace::analyze {

class SlowWatch {
 public:
  // `calls`: where calls are kept, which may be said later; null: nowhere, none is watched.
  // `shown`: the tree that `placement` places calls in.
  SlowWatch(SlowCalls* const& calls, const FilterPlan& plan, const Placement& placement,
            const CallTree& shown)
      : calls_(calls), plan_(plan), placement_(placement), shown_(shown) {}

  bool is_watching() const { return watched_ != 0; }
  // A call on top of the coroutine has begun, and is shown. It is watched if it is asked for.
  template <class Machine>
  void begin(Machine* machine, Coroutine& co, uint64_t now);
  // What happened in the coroutine at `node` of the shown tree, if a call is watched.
  template <class Machine>
  void tell(Machine* machine, Coroutine& co, uint32_t node, SlowNode what);
  // The coroutine was suspended there: only its own call is told.
  void suspended(const Coroutine& co, uint32_t node, uint64_t ticks);
  // The call on top ends. `call` says where and when; `counts`: it was seen from beginning to end,
  // and is shown.
  void end(Coroutine& co, SlowCall call, uint64_t now, const Clock& clock, bool counts);

 private:
  // Calls that are watched while one in the innermost of their coroutines runs: each is told of all
  // that happens there.
  static constexpr size_t kMostNested = 64;

  bool is_asked_for(uint32_t function);
  uint32_t root(const Coroutine& co) const {
    return placement_[co.frames[calls_->depth(co.watched)].node].out;
  }
  template <class Machine, class F>
  void each_outer(Machine* machine, Coroutine& co, F f);
  void give_up(Coroutine& co);

  SlowCalls* const& calls_;
  const FilterPlan& plan_;
  const Placement& placement_;
  const CallTree& shown_;
  std::vector<uint8_t> known_;  // By function: 1 not asked for, 2 asked for.
  size_t watched_ = 0;          // Calls that are being watched.
};

// `f` for those that resumed the coroutine and have a call that is watched, from the nearest on. If
// they are too many (calls that were watched before their coroutines came to be inside each other)
// the outermost are given up.
template <class Machine, class F>
void SlowWatch::each_outer(Machine* machine, Coroutine& co, F f) {
  const auto is_watched = [](const Coroutine& c) { return c.watched != 0; };
  Coroutine* last = &co;
  size_t n = 0;
  while (Coroutine* c = find_outer(machine, *last, &Coroutine::outer_watched, is_watched)) {
    if (n++ == kMostNested) {
      give_up(*c), n--;
      continue;
    }
    f(*c);
    last = c;
  }
}

template <class Machine>
void SlowWatch::begin(Machine* machine, Coroutine& co, uint64_t now) {
  if (!calls_ || co.watched) return;
  const Place p = placement_[co.frames[co.top].node];
  if (!is_asked_for(p.function)) return;
  size_t nested = 0;
  each_outer(machine, co, [&](Coroutine&) { nested++; });
  if (nested == kMostNested) return calls_->leave_out();
  co.watched = calls_->watch(co.top, p.function, now);
  watched_++;
  calls_->add(co.watched, shown_, p.out, p.out, {0, 0, 1, 0, 0});
}

template <class Machine>
void SlowWatch::tell(Machine* machine, Coroutine& co, uint32_t node, SlowNode what) {
  auto tell_one = [&](Coroutine& c) {
    if (c.watched) calls_->add(c.watched, shown_, root(c), node, what);
  };
  tell_one(co);
  each_outer(machine, co, tell_one);
}

}  // namespace luatrace::analyze
