// SPDX-License-Identifier: MIT
#include "recorder/requested.h"

#include <algorithm>

#include "base/escape.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxProcesses = 4096;

}  // namespace

Requested requested_processes(const Options& options) {
  Requested r;
  for (const auto& spec : options.pids) {
    std::string missing;
    if (const pid_t pid = find_process(spec, missing); pid > 0) {
      r.pids.push_back(pid);
      continue;
    }
    log("-p " + printable(spec) + ": " + missing);
    r.refusal = Refusal::kNoProcess;
  }
  r.named = r.pids.size();
  for (size_t i = 0; options.children && i < r.pids.size() && r.pids.size() < kMaxProcesses; i++)
    for (const pid_t child : children_of(r.pids[i]))
      if (std::find(r.pids.begin(), r.pids.end(), child) == r.pids.end()) r.pids.push_back(child);
  return r;
}

}  // namespace luatrace::record
