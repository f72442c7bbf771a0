// SPDX-License-Identifier: MIT
// Options that conflict, or have no effect alone. Invariant: no option is ignored silently.
#pragma once

#include "analyzer/options/options.h"
#include "cli/command_line.h"

namespace luatrace::analyze {

// Throws a UsageError that names both options.
void refuse_conflicts(const CommandLine& given, const Options& options);

// --inside: throws a UsageError for what writes or prints something else than the report, or merges
// another trace into it.
void refuse_for_program(const CommandLine& given);

// The traces have samples: throws a UsageError that names an option which needs single calls.
void refuse_without_calls(const Options& options);

// Whether two names are of the same file, including one that does not exist yet.
bool is_same_file(const std::string& a, const std::string& b);

// Whether an output other than text for the terminal goes to standard output.
bool is_output_taken(const Options& options);

// Whether the table of functions is shown though no view was requested.
bool shows_default_table(const Options& options);

// Returns those of the selected outputs whose times are not changed by --compensate.
std::vector<std::string> raw_outputs(const Options& options);

}  // namespace luatrace::analyze
