// SPDX-License-Identifier: MIT
// What /proc tells about a process, and waiting for its end.
#pragma once

#include <sys/types.h>

#include <string>

namespace luatrace {

struct ProcessFacts {
  pid_t parent = 0;
  std::string exe;      // empty if unreadable
  std::string cmdline;  // NUL between the arguments
  std::string image;    // differs from image to image of one process (exec), as far as we may see
};

ProcessFacts read_process(pid_t pid);

// The content of a file of /proc, at most `most` bytes; empty if it cannot be read.
std::string read_proc(pid_t pid, const char* name, size_t most = 1u << 20);

// A descriptor that becomes readable when the process ends, -1 if that cannot be had (then ask
// process_is_gone()). peer: a connected socket of that process, or -1.
int open_pidfd(pid_t pid, int peer);

// No such process, or a zombie.
bool process_is_gone(pid_t pid);

}  // namespace luatrace
