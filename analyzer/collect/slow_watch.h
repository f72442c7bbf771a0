// SPDX-License-Identifier: MIT
// --slow: which open calls are watched, and what is recorded for each of them.
//
// Invariant: a coroutine has at most one watched call, the outermost one that --slow selects. The
// record of a watched call covers everything inside it, including coroutines resumed there.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/collect/observers.h"
#include "analyzer/collect/outer_link.h"
#include "analyzer/collect/placement.h"

namespace luatrace::analyze {

class SlowWatch {
 public:
  // `calls`: where calls are kept; may be set later; null: no call is watched. `shown`: the tree
  // in which `placement` places calls.
  SlowWatch(SlowCalls* const& calls, const FilterPlan& plan, const Placement& placement,
            const CallTree& shown)
      : calls_(calls), plan_(plan), placement_(placement), shown_(shown) {}

  bool is_watching() const { return watched_ != 0; }
  // The call on top of the coroutine has begun and is shown: watches it if --slow selects it.
  template <class Machine>
  void begin(Machine* machine, Coroutine& co, uint64_t now);
  // Adds `what` happened at `node` of the shown tree to the watched calls that are open around it.
  template <class Machine>
  void add(Machine* machine, Coroutine& co, NodeId node, SlowNode what);
  // The coroutine was suspended at `node` for `ticks`: added to its own watched call only.
  void suspended(const Coroutine& co, NodeId node, uint64_t ticks);
  // The call on top ends. `call` says where, and its inclusive time; `counts`: it is shown, and was
  // seen from beginning to end.
  void end(Coroutine& co, SlowCall call, uint64_t now, const Clock& clock, bool counts);

 private:
  // Limit of watched calls in coroutines that resumed one another: each gets every event of the
  // innermost one.
  static constexpr size_t kMaxNested = 64;

  bool is_selected(FunctionId function);
  NodeId root(const Coroutine& co) const {
    return placement_[co.frames[calls_->depth(co.watched_call)].node].out;
  }
  template <class Machine, class F>
  void each_outer(Machine* machine, Coroutine& co, F f);
  void give_up(Coroutine& co);

  SlowCalls* const& calls_;
  const FilterPlan& plan_;
  const Placement& placement_;
  const CallTree& shown_;
  enum class Selected : uint8_t { kUnknown, kNo, kYes };
  std::vector<Selected> known_;  // By function.
  size_t watched_ = 0;
};

// Calls `f` for each direct or indirect resumer of the coroutine that has a watched call, the
// nearest first. Beyond kMaxNested (calls that were watched before their coroutines resumed one
// another), the outermost watched calls are given up.
template <class Machine, class F>
void SlowWatch::each_outer(Machine* machine, Coroutine& co, F f) {
  const auto is_watched = [](const Coroutine& c) { return c.watched_call != kNoWatch; };
  Coroutine* last = &co;
  size_t n = 0;
  while (Coroutine* c = find_outer(machine, *last, &Coroutine::outer_watched, is_watched)) {
    if (n++ == kMaxNested) {
      give_up(*c), n--;
      continue;
    }
    f(*c);
    last = c;
  }
}

template <class Machine>
void SlowWatch::begin(Machine* machine, Coroutine& co, uint64_t now) {
  if (!calls_ || co.watched_call) return;
  const Place p = placement_[co.frames[co.top].node];
  if (!is_selected(p.function)) return;
  size_t nested = 0;
  each_outer(machine, co, [&](Coroutine&) { nested++; });
  if (nested == kMaxNested) return calls_->leave_out();
  co.watched_call = calls_->watch(co.top, p.function, now);
  watched_++;
  calls_->add(co.watched_call, shown_, p.out, p.out, {0, 0, 1, 0, 0});
}

template <class Machine>
void SlowWatch::add(Machine* machine, Coroutine& co, NodeId node, SlowNode what) {
  auto add_to = [&](Coroutine& c) {
    if (c.watched_call) calls_->add(c.watched_call, shown_, root(c), node, what);
  };
  add_to(co);
  each_outer(machine, co, add_to);
}

}  // namespace luatrace::analyze
