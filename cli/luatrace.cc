// SPDX-License-Identifier: MIT
// luatrace PROGRAM ...: executes luatrace-PROGRAM, which is in the same folder, or found in PATH.
#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

#include "cli/execute.h"
#include "cli/front.h"

using namespace luatrace;

int main(int argc, char** argv) {
  return front_main(argc, argv, [&](const std::string& program, CommandLine::Tokens words) {
    execute(program, argv[0], std::move(words));
    std::cerr << "luatrace: " << program << ": cannot execute: " << strerror(errno) << '\n';
    return kFrontFailed;
  });
}
