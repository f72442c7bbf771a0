// SPDX-License-Identifier: MIT
// What was probably meant by a command line that cannot be right. Invariant: nothing that names a
// file that exists is taken for a slip.
#pragma once

#include "cli/command_line.h"

namespace luatrace::analyze {

// Throws UsageError that says what to write if there is no trace, or if a word that should be one,
// and is no file, is something else: a unit of time, a view, a mode of --coroutines.
void suggest_usage(const CommandLine& given);

}  // namespace luatrace::analyze
