// SPDX-License-Identifier: MIT
// Groups of calls that may change while the calls are open: the group of what runs now.
//
// Threads and Lua VMs are groups of what runs there, phases and plugins groups of call paths. But
// for whom a coroutine works (--group-by request), and its label (--group-by label:KEY), depend on
// neither: they can change at any moment, and a call can be the first of its group. Such a group is
// a node of the raw tree above the calls that are in it (Placement::enter_group()). When it
// changes, the open calls move there, as those of a coroutine do that is resumed elsewhere; time
// that has passed stays where it was.
//
// Invariant: the call on top, and the coroutine outside of its calls, are in Coroutine::group,
// unless the machine's work budget did not suffice to move them.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/placement.h"
#include "analyzer/machine/machine.h"

namespace luatrace::analyze {

// What runs in a coroutine now belongs to this group (kNoFunction: to none), from its call at the
// depth `from` inwards; calls further out do not.
struct RunningGroup {
  FunctionId group;
  uint32_t from = 1;
};

class RunningGroups {
 public:
  explicit RunningGroups(Placement& placement) : placement_(placement) {}

  // The coroutine is attached to the node `raw`: returns that of its group there. Its open calls
  // stay in their group until follow().
  uint32_t base(Coroutine& co, uint32_t raw, RunningGroup now) {
    if (co.top == 0) set(co, now);
    moved_ = {co.group, co.group_from};
    depth_ = 0;
    return co.group_from > 1 ? raw : placement_.enter_group(raw, co.group);
  }
  // After base(), for each open call, outermost first: returns the node that its own is to be a
  // child of.
  uint32_t next(uint32_t raw) {
    return ++depth_ == moved_.from && depth_ > 1 ? placement_.enter_group(raw, moved_.group) : raw;
  }
  // Something is about to happen in the coroutine: moves its open calls if its group has changed.
  // `machine` may be null.
  template <class Machine>
  void follow(Machine* machine, Coroutine& co, RunningGroup now) {
    if (now.group == co.group) return;
    set(co, now);
    const uint64_t calls = co.top + 1 - std::min(now.from, co.top);
    if (!machine || machine->may_move(kCost * calls)) move(co);
  }
  // The call on top ends; what is further out is in this group.
  void leave(Coroutine& co, RunningGroup outside) { set(co, outside); }

 private:
  // A move to another group makes new nodes, which need memory.
  static constexpr uint64_t kCost = 8;
  static void set(Coroutine& co, RunningGroup now) {
    co.group = now.group;
    co.group_from = now.from;
  }
  void move(Coroutine& co);

  Placement& placement_;
  RunningGroup moved_;  // Of the last base(), ...
  uint32_t depth_ = 0;  // ... and the call that next() was called for.
};

}  // namespace luatrace::analyze
