// SPDX-License-Identifier: MIT
// Helpers: processes of ours beside the recorder (what guards, sweeps, holds links, reads what may
// never answer).
// Invariants: waitpid(-1) does not tell of a helper, so none is ever taken for a process of the
// command's, also where the recorder is the first process of a container; a helper holds no
// descriptors but the ones it is given, so nobody who waits for the end of our output waits for it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace luatrace::record {

// Runs body in a process of its own, which ends with it: only SIGKILL ends it sooner, standard
// input and output are /dev/null, and of our descriptors it has `kept`. It has left our session and
// process group when this returns, unless that takes more than a second. Where there are other
// threads body must do nothing but system calls: a lock that one of them holds (malloc's) is never
// released in the copy. Returns its pid, or -1 and errno.
pid_t start_helper(const char* name, std::vector<int> kept, const std::function<void()>& body);

// Waits for the end of a helper, for so long at most. One that takes longer is waited for when the
// next one is started.
void reap_helper(pid_t pid, int limit_ms);

}  // namespace luatrace::record
