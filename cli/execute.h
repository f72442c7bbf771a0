// SPDX-License-Identifier: MIT
// Executing another program of ours.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace luatrace {

// Replaces this process by `program`, which is in the folder of this one, or found in PATH. `self`:
// argv[0]; the other program is named as this one was, since messages name programs in the same
// way. Returns only if it cannot be executed; errno says why.
void execute(const std::string& program, const char* self, CommandLine::Tokens arguments);

}  // namespace luatrace
