// SPDX-License-Identifier: MIT
// --snapshot: asks the flight recorders of running processes. Invariant: SIGUSR1 goes only to a
// luatrace-record that waits for it and holds the process, so it never ends a program.
#pragma once

#include <string>
#include <vector>

namespace luatrace::record {

// Returns the exit status of luatrace-record.
int ask_snapshot(const std::vector<std::string>& pids);

}  // namespace luatrace::record
