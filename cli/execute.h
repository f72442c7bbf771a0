// SPDX-License-Identifier: MIT
// Finding and executing another program of ours.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace luatrace {

// This program is luatrace-static, which is all of ours: the other one is this file, too. Called
// first; `self`: argv[0].
void set_all_programs(const char* self);
bool is_all_programs();

// The path of `program` in the folder of this one, or its name alone if there is none: it is then
// found in PATH.
std::string program_beside_us(const std::string& program);

// `program` as a user calls it who called this one `self` (argv[0]): in the same way, since
// messages name programs in the same way.
CommandLine::Tokens call_of(const std::string& program, const std::string& self);

// Replaces this process by `program`, which program_beside_us() finds. `self`: argv[0]; the other
// program is named as this one was. Returns only if it cannot be executed; errno says why.
void execute(const std::string& program, const char* self, CommandLine::Tokens arguments);

}  // namespace luatrace
