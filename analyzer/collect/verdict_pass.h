// SPDX-License-Identifier: MIT
// The pass over a trace that finds the verdicts of -t and -C (filter/verdicts.h).
#pragma once

#include <cstddef>

#include "analyzer/filter/filter_plan.h"
#include "analyzer/read/input.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

// Returns the number of the next call of a stream and increments it. Throws Unreadable: a stream
// has more calls than verdicts can number.
CallNumber next_call(CallNumber& next);

// Reads the whole trace, with up to `jobs` threads (1 or more). With -C, plan.known must have the
// trace's functions; plan.verdicts is ignored. Damage is reported by the last pass only. Throws
// Unreadable.
CallVerdicts find_verdicts(const FilterPlan& plan, const SymbolFinder& symbols, Input& input,
                           size_t jobs);

}  // namespace luatrace::analyze
