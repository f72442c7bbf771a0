// SPDX-License-Identifier: MIT
// The processes that -p and --children name, for what is done once and records nothing.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "recorder/backend/options.h"
#include "recorder/vm/attached.h"

namespace luatrace::record {

struct Requested {
  std::vector<pid_t> pids;
  size_t named = 0;  // by -p; those after them are descendants
  Refusal refusal = Refusal::kNone;
};

// Logs which of them do not exist.
Requested requested_processes(const Options& options);

}  // namespace luatrace::record
