// SPDX-License-Identifier: MIT
// luatrace PROGRAM ...: executes luatrace-PROGRAM, which is in the same folder, or found in PATH.
#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/escape.h"
#include "cli/command_line.h"
#include "cli/execute.h"

using namespace luatrace;

static constexpr int kFailed = 125;

static std::string program_of(const CommandLine& given) {
  if (given.operands().empty()) throw UsageError("missing program: " + choices_text(kPrograms));
  const std::string& name = given.operands()[0];
  if (!is_choice(kPrograms, name))
    throw UsageError('\'' + name + "': no such program; choose " + choices_text(kPrograms));
  return "luatrace-" + name;
}

// Returns only if it cannot be executed.
static int run(const std::string& program, const char* self, CommandLine::Tokens words) {
  words.erase(words.begin());
  execute(program, self, std::move(words));
  std::cerr << "luatrace: " << program << ": cannot execute: " << strerror(errno) << '\n';
  return kFailed;
}

int main(int argc, char** argv) {
  try {
    const CommandLine given(luatrace_program(), argc, argv);
    if (!given.print_common(LUATRACE_VERSION))
      return run(program_of(given), argv[0], given.operands());
    return std::cout.flush() ? 0 : kFailed;
  } catch (const UsageError& e) {
    std::cerr << "luatrace: " << printable(e.what()) << " (see --help)\n";
    return kFailed;
  }
}
