// SPDX-License-Identifier: MIT
// The options that say what is looked at, made ready for one file.
#pragma once

#include <cstdint>

#include "analyzer/filter/filter.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/filter/verdicts.h"
#include "analyzer/machine/functions.h"

namespace luatrace::analyze {

struct FilterPlan {
  const FilterOptions* options = nullptr;
  uint64_t from = 0, to = UINT64_MAX;  // Ticks.
  FunctionPatterns slow;               // Calls to be watched.
  // What all of the file says about its functions, if that is known: filters judge a function by
  // it, also one that was called before its description came. Without it they judge by what was
  // said when it was first called: in a file of several streams that is a question of who was
  // first.
  const FunctionTable* known = nullptr;
  const CallVerdicts* verdicts = nullptr;  // Which calls are dropped; null: none.
};

}  // namespace luatrace::analyze
