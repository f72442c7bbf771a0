// SPDX-License-Identifier: MIT
// What tracers have left in a process with one LuaJIT of ours. Only reads the process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hostile {

struct LeftBehind {
  bool owner = false;     // a recorder claims the control structure
  unsigned ring = 0;      // its switch for rings
  bool settings = false;  // a pattern or a class of C functions other than the default
  unsigned probes = 0;    // tracers of the probes, single events and blocks
  size_t states = 0;      // Lua VMs,
  size_t on = 0;          // those that are traced,
  size_t patched = 0;     // slots of their dispatch tables that poll
};

// False and why if the process cannot be read, or has not exactly one LuaJIT of ours.
bool look_at(pid_t pid, LeftBehind& left, std::string& why);

// The code of its LuaJIT (a breakpoint of the kernel is in it); empty: unreadable.
std::string code_of(pid_t pid);

}  // namespace hostile
