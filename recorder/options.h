// SPDX-License-Identifier: MIT
// The command line of luatrace-record.
#pragma once

#include "cli/usage_error.h"
#include "recorder/backend/options.h"

namespace luatrace::record {

// Reads the command line. --help and --version print to standard output and set `done`; then the
// options are not filled in. Throws UsageError.
Options parse_options(int argc, char** argv, bool* done);

const char* version_text();

// Names the first of a command's words that looks like an option of ours, and where it belongs.
// Empty: there is none. If the command has not failed only options that it cannot mean otherwise.
std::string explain_misplaced(const std::vector<std::string>& command, bool failed = true);

}  // namespace luatrace::record
