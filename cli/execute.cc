// SPDX-License-Identifier: MIT
#include "cli/execute.h"

#include <unistd.h>

#include <filesystem>

namespace luatrace {
namespace {

bool has_all_programs = false;
std::string front;  // How luatrace-static was called; empty if by the name of one of the programs.

std::string named_beside(const std::string& program, const std::string& self) {
  return self.substr(0, self.rfind('/') + 1) + program;
}

}  // namespace

void set_all_programs(const char* self) {
  has_all_programs = true;
  const std::string called = self ? self : "";
  for (const char* const program : {"luatrace-record", "luatrace-analyze", "luatrace-top"})
    if (called == named_beside(program, called)) return;
  front = called;
}

bool is_all_programs() {
  return has_all_programs;
}

std::string program_beside_us(const std::string& program) {
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto beside = self.parent_path() / program;
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : program;
}

CommandLine::Tokens call_of(const std::string& program, const std::string& self) {
  constexpr std::string_view kPrefix = "luatrace-";
  if (!front.empty()) return {front, program.substr(kPrefix.size())};
  return {named_beside(program, self)};
}

void execute(const std::string& program, const char* self, CommandLine::Tokens arguments) {
  arguments.insert(arguments.begin(), named_beside(program, self ? self : ""));
  std::vector<char*> argv;
  for (std::string& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string path = has_all_programs ? "/proc/self/exe" : program_beside_us(program);
  execvp(path.c_str(), argv.data());
}

}  // namespace luatrace
