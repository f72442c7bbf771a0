// SPDX-License-Identifier: MIT
// Names of groups that are processes, or parts of one.
#pragma once

#include <string>

#include "analyzer/machine/streams.h"

namespace luatrace::analyze {

// " (pid 12)", after the name of a part; "" if the trace does not describe the process.
std::string pid_text(const TraceFacts& facts, ProcessId number);

// "process 12 (nginx)": its pid as the recorder saw it, and its program without the directory.
std::string process_name(const TraceFacts& facts, ProcessId number);

}  // namespace luatrace::analyze
