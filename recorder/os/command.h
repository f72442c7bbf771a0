// SPDX-License-Identifier: MIT
// Starts the command, and interprets how it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::record {

// Blocks the signals that the session reads from a descriptor, ignores those that a failing write
// would raise, and stops ignoring the end of children. start_command() restores the previous
// settings for the command.
void take_over_signals(const std::vector<int>& to_block);

struct Started {
  pid_t pid = -1;        // -1: it does not run
  int exec_errno = 0;    // why it could not be executed; 0 with pid -1: `prepare` returned false
  uint16_t machine = 0;  // its file's e_machine, 0: it is no ELF file
};

// Starts words[0] with those arguments and additional environment variables. Signals are as they
// were before the recorder changed them. stdout_fd: its standard output, -1: ours. `prepare` is
// called with the pid before the command runs; if it returns false the command is not run. Returns
// after the exec. Makes us the parent of the command's orphans. Throws std::runtime_error if no
// process can be created.
Started start_command(const std::vector<std::string>& words,
                      const std::vector<std::pair<std::string, std::string>>& environment,
                      int stdout_fd, const std::function<bool(pid_t)>& prepare);

// Children of this process that waitpid(-1) reports.
std::vector<pid_t> waited_children();

// A wait() status as the exit status of a shell.
int shell_status(int wait_status);

}  // namespace luatrace::record
