// SPDX-License-Identifier: MIT
// luatrace-record --thread-context: switches the publication of thread contexts for other profilers
// on or off in running processes (docs/thread-context.md). Nothing of ours remains in them but the
// switch.
#pragma once

#include "recorder/backend/options.h"

namespace luatrace::record {

// Returns the exit status of luatrace-record.
int switch_contexts(const Options& options);

}  // namespace luatrace::record
