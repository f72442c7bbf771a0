// SPDX-License-Identifier: MIT
// The command line of luatrace: luatrace PROGRAM ARGUMENT...
#pragma once

#include <functional>
#include <string>

#include "cli/command_line.h"

namespace luatrace {

// Runs luatrace-PROGRAM, which is `program`. Returns its exit status.
using RunProgram = std::function<int(const std::string& program, CommandLine::Tokens arguments)>;

int front_main(int argc, char** argv, const RunProgram& run);

constexpr int kFrontFailed = 125;

}  // namespace luatrace
