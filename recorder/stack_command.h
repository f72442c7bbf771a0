// SPDX-License-Identifier: MIT
// luatrace-record --stack: prints the Lua stacks of running processes.
#pragma once

#include "recorder/backend/options.h"

namespace luatrace::record {

// Returns the exit status of luatrace-record.
int print_stacks(const Options& options);

}  // namespace luatrace::record
