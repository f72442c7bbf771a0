// SPDX-License-Identifier: MIT
// luatrace PROGRAM ...: executes luatrace-PROGRAM, which is in the same folder, or found in PATH.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/escape.h"
#include "cli/command_line.h"

using namespace luatrace;

static constexpr int kFailed = 125;

static std::string program_of(const CommandLine& given) {
  if (given.operands().empty()) throw UsageError("missing program: record or analyze");
  const std::string& name = given.operands()[0];
  if (std::find(std::begin(kPrograms), std::end(kPrograms), name) == std::end(kPrograms))
    throw UsageError('\'' + name + "': no such program; choose record or analyze");
  return "luatrace-" + name;
}

// Returns only if it cannot be executed. It is named as luatrace was: messages name other programs
// in the same way.
static int execute(const std::string& program, const char* self, CommandLine::Tokens words) {
  const std::string called = self ? self : "";
  words[0] = called.substr(0, called.rfind('/') + 1) + program;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv((own.parent_path() / program).c_str(), argv.data());
  if (error || errno == ENOENT) execvp(program.c_str(), argv.data());
  std::cerr << "luatrace: " << program << ": cannot execute: " << strerror(errno) << '\n';
  return kFailed;
}

int main(int argc, char** argv) {
  try {
    const CommandLine given(luatrace_program(), argc, argv);
    if (given.has("help"))
      write_help(std::cout, luatrace_program(), terminal_columns());
    else if (given.has("version"))
      std::cout << "luatrace " LUATRACE_VERSION "\n";
    else
      return execute(program_of(given), argv[0], given.operands());
    return std::cout.flush() ? 0 : kFailed;
  } catch (const UsageError& e) {
    std::cerr << "luatrace: " << printable(e.what()) << " (see --help)\n";
    return kFailed;
  }
}
