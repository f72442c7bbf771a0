// SPDX-License-Identifier: MIT
// The reading of a trace that finds the verdicts of -t and -C (filter/verdicts.h).
#pragma once

#include <cstddef>

#include "analyzer/filter/filter_plan.h"
#include "analyzer/read/input.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

// A stream has more calls than verdicts can number.
[[noreturn]] void throw_too_many_calls();

// Reads all of the trace, by at most `jobs` threads (1 or more). `plan`: plan.known has its names
// if -C is asked for; its verdicts are not looked at. What is wrong with the trace is said when it
// is read again. Throws Unreadable.
CallVerdicts find_verdicts(const FilterPlan& plan, const SymbolFinder& symbols, Input& input,
                           size_t jobs);

}  // namespace luatrace::analyze
