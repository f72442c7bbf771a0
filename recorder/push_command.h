// SPDX-License-Identifier: MIT
// luatrace-record --push: records one window after the other, and has luatrace-analyze push each.
#pragma once

#include "recorder/backend/options.h"

namespace luatrace::record {

// Until SIGINT, SIGTERM or SIGHUP, or until the processes have ended. Returns the exit status.
int push_windows(const Options& options);

}  // namespace luatrace::record
