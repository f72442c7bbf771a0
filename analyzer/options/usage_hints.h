// SPDX-License-Identifier: MIT
// Hints on what was probably meant by an invalid command line. Invariant: the name of an existing
// file is never treated as a mistake.
#pragma once

#include "cli/command_line.h"

namespace luatrace::analyze {

// Throws a UsageError that says what to write if there is no trace, or if a word in the place of a
// trace is not a file but a unit of time, a view or a mode of --coroutines.
void suggest_usage(const CommandLine& given);

}  // namespace luatrace::analyze
