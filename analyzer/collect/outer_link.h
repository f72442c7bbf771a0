// SPDX-License-Identifier: MIT
// Finds the nearest resumer of a coroutine for which a condition holds.
#pragma once

#include <vector>

#include "analyzer/machine/coroutine.h"

namespace luatrace::analyze {

// Returns the nearest direct or indirect resumer of `co` for which `is` holds; null if there is
// none. It is cached in `link` while `co` runs and is not moved: its resumers begin no calls
// meanwhile. So all look-ups together take few more steps than there are resumes and moves, however
// long the chain of resumers is.
template <class Machine, class Is>
Coroutine* find_outer(Machine* machine, Coroutine& co, OuterLink Coroutine::*link, Is is) {
  if (!machine || !co.running) return nullptr;
  const auto next = [&](Coroutine& c) {
    OuterLink& known = c.*link;
    if (known.epoch == c.epoch) return known.id == kNoCoroutine ? nullptr : machine->find(known.id);
    known = {c.epoch, kNoCoroutine};
    return machine->resumer_of(c);
  };
  const bool is_known = (co.*link).epoch == co.epoch;
  Coroutine* found = next(co);
  if (is_known && (!found || is(*found))) return found;
  std::vector<Coroutine*> passed{&co};  // A damaged trace might have a cycle.
  for (; found && !is(*found) && passed.size() <= Machine::kMaxChain; found = next(*found))
    passed.push_back(found);
  if (found && !is(*found)) found = nullptr;
  for (Coroutine* c : passed) (c->*link).id = found ? found->id : kNoCoroutine;
  return found;
}

}  // namespace luatrace::analyze
