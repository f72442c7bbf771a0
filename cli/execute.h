// SPDX-License-Identifier: MIT
// Finding and executing another program of ours.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace luatrace {

// The path of `program` in the folder of this one, or its name alone if there is none: it is then
// found in PATH.
std::string program_beside_us(const std::string& program);

// Replaces this process by `program`, which program_beside_us() finds. `self`: argv[0]; the other
// program is named as this one was, since messages name programs in the same way. Returns only if
// it cannot be executed; errno says why.
void execute(const std::string& program, const char* self, CommandLine::Tokens arguments);

}  // namespace luatrace
