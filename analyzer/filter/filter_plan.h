// SPDX-License-Identifier: MIT
// The filter options, resolved for one file.
#pragma once

#include <cstdint>

#include "analyzer/filter/filter.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/filter/verdicts.h"
#include "analyzer/machine/code_weights.h"
#include "analyzer/machine/functions.h"

namespace luatrace::analyze {

struct FilterPlan {
  const FilterOptions* options = nullptr;
  uint64_t from = 0, to = UINT64_MAX;  // Ticks.
  FunctionPatterns slow;               // Functions whose calls are watched (--slow).
  // The functions of the whole file, if known: filters then also match a function that is called
  // before its description. Without it they use what is known when it is first called, which in a
  // file of several streams depends on which stream comes first.
  const FunctionTable* known = nullptr;
  const CallVerdicts* verdicts = nullptr;  // Calls to drop; null: none.
  const CodeWeights* weights = nullptr;    // As TraceFacts::weights.
};

}  // namespace luatrace::analyze
