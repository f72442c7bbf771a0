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

}  // namespace luatrace::record
