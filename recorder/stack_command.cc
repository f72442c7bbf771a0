// SPDX-License-Identifier: MIT
#include "recorder/stack_command.h"

#include <iostream>

#include "recorder/attacher.h"
#include "recorder/os/text.h"
#include "recorder/requested.h"
#include "recorder/stack/print.h"

namespace luatrace::record {
namespace {

// Prints those of one process.
Attached print_process(const Options& options, pid_t pid, bool first) {
  stack::Stacks stacks;
  const Attached read = stack::read_stacks(pid, stacks);
  if (!read) return read;
  if (!first) std::cout << (options.json ? ",\n" : "\n");
  std::cout << (options.json ? stacks_json(stacks, read_process(pid).cmdline)
                             : stacks_text(stacks, process_text(pid)));
  std::cout.flush();
  return read;
}

}  // namespace

int print_stacks(const Options& options) {
  Requested all = requested_processes(options);
  Refusal none = Refusal::kNone;  // why there is nothing, with --children
  size_t printed = 0;
  if (options.json) std::cout << "{\"processes\":[";
  for (size_t i = 0; i < all.pids.size(); i++) {
    const Attached read = print_process(options, all.pids[i], printed == 0);
    if (read && ++printed) continue;
    // A server's master need not have a LuaJIT.
    const bool may_lack = options.children && read.refusal == Refusal::kNoLuaJIT;
    if (!may_lack || options.verbose) log(process_text(all.pids[i]) + " " + read.why);
    Refusal& refusal = may_lack ? none : all.refusal;
    if (refusal == Refusal::kNone) refusal = read.refusal;
  }
  if (options.json) std::cout << "]}\n";
  if (printed == 0 && none != Refusal::kNone && all.refusal == Refusal::kNone) {
    log("neither these processes nor their descendants have a LuaJIT with tracepoints");
    all.refusal = none;
  }
  if (!std::cout.flush()) {
    log("standard output: cannot write");
    return static_cast<int>(Refusal::kOther);
  }
  return static_cast<int>(all.refusal);
}

}  // namespace luatrace::record
