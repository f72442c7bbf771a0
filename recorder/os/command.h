// SPDX-License-Identifier: MIT
// Starting the command, and reading how it ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::record {

// Blocks the signals that the session reads from a descriptor, ignores those that a failing write
// would raise, and does not ignore the end of children. start_command() gives the command what was
// before.
void take_over_signals(const std::vector<int>& to_block);

struct Started {
  pid_t pid = -1;      // -1: it does not run
  int exec_errno = 0;  // why it could not be executed; 0 with pid -1: `prepare` said no
};

// Starts words[0] with those arguments and additional environment variables. Signals are as they
// were before the recorder changed them. stdout_fd: its standard output, -1: ours. prepare is
// called with the pid before the command runs; if it returns false the command is not run. Returns
// after the exec. Makes us the parent of what the command leaves behind when it ends. Throws
// std::runtime_error if no process can be made.
Started start_command(const std::vector<std::string>& words,
                      const std::vector<std::pair<std::string, std::string>>& environment,
                      int stdout_fd, const std::function<bool(pid_t)>& prepare);

// Children of this process that waitpid(-1) tells of.
std::vector<pid_t> waited_children();

// A wait() status as a shell gives it.
int shell_status(int wait_status);

}  // namespace luatrace::record
