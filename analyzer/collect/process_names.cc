// SPDX-License-Identifier: MIT
#include "analyzer/collect/process_names.h"

#include <filesystem>

namespace luatrace::analyze {

std::string pid_text(const TraceFacts& facts, ProcessId number) {
  const auto process = facts.processes.find(number);
  if (process == facts.processes.end()) return "";
  return " (pid " + std::to_string(process->second.pid) + ')';
}

std::string process_name(const TraceFacts& facts, ProcessId number) {
  const auto process = facts.processes.find(number);
  if (process == facts.processes.end()) return "[unknown process]";
  const std::string program = std::filesystem::path(process->second.exe).filename().string();
  return "process " + std::to_string(process->second.pid) +
         (program.empty() ? "" : " (" + program + ')');
}

}  // namespace luatrace::analyze
