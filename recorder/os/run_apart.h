// SPDX-License-Identifier: MIT
// Reads files that may never answer: on a file system that is a program (FUSE) or another machine
// (NFS, ...). The kernel may not interrupt such a read, not even for SIGKILL. So it is done in a
// separate process, and given up after a while; a file system that has not answered once is not
// asked again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>

#include "recorder/os/maps.h"

namespace luatrace::record {

// Has the file system of that mapping failed to answer (or have too many)? Then it is not asked.
bool is_given_up(const Mapping& m);
void give_up(const Mapping& m);

// Runs the job, which asks the file system of that mapping and makes only system calls (helper.h),
// in a process without descriptors of ours; the job's output, up to 4,096 bytes, comes back in
// `out`. Returns its size, or -1: no answer within 0.2 s (then the process is killed and left to
// the kernel, and its file system given up), or it could not be asked.
ssize_t run_apart(const Mapping& m, const std::function<size_t(std::span<std::byte>)>& job,
                  std::span<std::byte> out);

// Is that file of the process on a file system that may not answer? According to its table of
// mounts.
bool may_not_answer(pid_t pid, const Mapping& m);

// Would reading that memory of the process, a part of the mapping, return? Asks the file system if
// the pages are not in memory.
bool memory_answers(pid_t pid, const Mapping& m, uint64_t address, size_t size);

}  // namespace luatrace::record
