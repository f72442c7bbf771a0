// SPDX-License-Identifier: MIT
#include "cli/execute.h"

#include <unistd.h>

#include <filesystem>

namespace luatrace {

std::string program_beside_us(const std::string& program) {
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto beside = self.parent_path() / program;
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : program;
}

void execute(const std::string& program, const char* self, CommandLine::Tokens arguments) {
  const std::string called = self ? self : "";
  arguments.insert(arguments.begin(), called.substr(0, called.rfind('/') + 1) + program);
  std::vector<char*> argv;
  for (std::string& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(program_beside_us(program).c_str(), argv.data());
}

}  // namespace luatrace
