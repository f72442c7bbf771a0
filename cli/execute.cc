// SPDX-License-Identifier: MIT
#include "cli/execute.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace luatrace {

void execute(const std::string& program, const char* self, CommandLine::Tokens arguments) {
  const std::string called = self ? self : "";
  arguments.insert(arguments.begin(), called.substr(0, called.rfind('/') + 1) + program);
  std::vector<char*> argv;
  for (std::string& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv((own.parent_path() / program).c_str(), argv.data());
  if (error || errno == ENOENT) execvp(program.c_str(), argv.data());
}

}  // namespace luatrace
