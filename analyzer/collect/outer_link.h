// SPDX-License-Identifier: MIT
// Who, of those that resumed a coroutine, is the nearest for which something holds.
#pragma once

#include <vector>

#include "analyzer/machine/coroutine.h"

namespace luatrace::analyze {

// Directly or through others; null: nobody. It is remembered in `link` as long as the coroutine
// runs and hangs where it does: whoever resumed it begins no calls meanwhile. So all questions
// together take hardly more steps than there are resumes and moves, however long the chain is.
template <class Machine, class Is>
Coroutine* find_outer(Machine* machine, Coroutine& co, OuterLink Coroutine::*link, Is is) {
  if (!machine || !co.running) return nullptr;
  const auto next = [&](Coroutine& c) {
    OuterLink& known = c.*link;
    if (known.epoch == c.epoch) return known.id == LT_ID_NONE ? nullptr : machine->find(known.id);
    known = {c.epoch, LT_ID_NONE};
    return machine->resumer_of(c);
  };
  const bool is_known = (co.*link).epoch == co.epoch;
  Coroutine* found = next(co);
  if (is_known && (!found || is(*found))) return found;
  std::vector<Coroutine*> passed{&co};  // Of a broken trace it might be a circle.
  for (; found && !is(*found) && passed.size() <= Machine::kMaxChain; found = next(*found))
    passed.push_back(found);
  if (found && !is(*found)) found = nullptr;
  for (Coroutine* c : passed) (c->*link).id = found ? found->id : LT_ID_NONE;
  return found;
}

}  // namespace luatrace::analyze
