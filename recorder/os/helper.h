// SPDX-License-Identifier: MIT
// Helpers: separate processes of the recorder (which guard, listen, hold links, or read what may
// never answer). Invariants: waitpid(-1) does not report a helper, so none is ever taken for a
// process of the command, even if the recorder is the first process of a container; a helper holds
// no descriptors but the given ones, so no reader of our output waits for it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace luatrace::record {

// Runs `body` in a process of its own, which ends with it: only SIGKILL ends it sooner, standard
// input and output are /dev/null, and of our descriptors it has `kept`. It has left our session and
// process group when this returns, unless that takes more than a second. If there are other
// threads, `body` must make only system calls: a lock that one of them holds (malloc's) is never
// released in the copy. Returns its pid, or -1 and errno.
pid_t start_helper(const char* name, std::vector<int> kept, const std::function<void()>& body);

// Waits for the end of a helper, up to that limit. One that takes longer is waited for when the
// next one is started.
void reap_helper(pid_t pid, int limit_ms);

// For a helper that needs many descriptors: our limit is often 1,024.
void use_all_descriptors();

}  // namespace luatrace::record
