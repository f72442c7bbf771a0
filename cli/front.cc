// SPDX-License-Identifier: MIT
#include "cli/front.h"

#include <iostream>

#include "base/escape.h"

namespace luatrace {

static std::string program_of(const CommandLine& given) {
  if (given.operands().empty()) throw UsageError("missing program: " + choices_text(kPrograms));
  const std::string& name = given.operands()[0];
  if (!is_choice(kPrograms, name))
    throw UsageError('\'' + name + "': no such program; choose " + choices_text(kPrograms));
  return "luatrace-" + name;
}

int front_main(int argc, char** argv, const RunProgram& run) {
  try {
    const CommandLine given(luatrace_program(), argc, argv);
    if (!given.print_common(LUATRACE_VERSION)) {
      const auto& words = given.operands();
      const std::string program = program_of(given);
      return run(program, {words.begin() + 1, words.end()});
    }
    return std::cout.flush() ? 0 : kFrontFailed;
  } catch (const UsageError& e) {
    std::cerr << "luatrace: " << printable(e.what()) << " (see --help)\n";
    return kFrontFailed;
  }
}

}  // namespace luatrace
