// SPDX-License-Identifier: MIT
// Options that do not go together, or mean nothing alone. Invariant: no option is ignored in
// silence.
#pragma once

#include "analyzer/options/options.h"
#include "cli/command_line.h"

namespace luatrace::analyze {

// Throws UsageError that names both options.
void refuse_conflicts(const CommandLine& given, const Options& options);

// Whether something else than text for the terminal goes to standard output.
bool is_output_taken(const Options& options);

// Those of the outputs asked for that have times as they were measured whatever --compensate says.
std::vector<std::string> raw_outputs(const Options& options);

}  // namespace luatrace::analyze
