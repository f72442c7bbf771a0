// SPDX-License-Identifier: MIT
// Runs a program and shows each system call of its threads before and after the kernel executes it
// (ptrace), so that a test can kill the program, or a child of it, at that very moment.
// Invariants: what is traced does not outlive the test (PTRACE_O_EXITKILL); children that are not
// followed run untraced from their first instruction, and have begun to when the call that forks
// them is shown as done.
#pragma once

#include <sys/types.h>

#include <compare>
#include <functional>
#include <string>
#include <vector>

namespace hostile {

// A system call, as far as a test distinguishes them.
struct Call {
  long number = -1;
  // Changes something outside: open() that may write, mmap() of shared memory; making or closing a
  // link to probes.
  bool writes = false;
  auto operator<=>(const Call&) const = default;
};
std::string name_of(const Call& call);

struct Stop {
  pid_t program = 0, child = 0;  // processes; child: that the program has forked first, or 0
  bool in_child = false;         // whether a child makes the call
  bool after = false;            // the kernel has done it
  Call call;
};

enum class Follow { kProgram, kChildren };

// Returns the program's status, as waitpid(2) has it, when all that is traced has ended; children
// that are not followed may run still. Its output goes to the file `log`. on_call may send signals
// to the processes of the stop.
int trace_calls(const std::vector<std::string>& words, const std::string& log, Follow follow,
                const std::function<void(const Stop&)>& on_call);

}  // namespace hostile
