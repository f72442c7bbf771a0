// SPDX-License-Identifier: MIT
// Reading what may never answer: a file on a file system that is a program (FUSE) or another
// machine (NFS, ...). The kernel may let nobody out of such a read, not even by SIGKILL. So it is
// done in a process of its own, and given up after a while; a file system that has not answered
// once is not asked again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>

#include "recorder/os/maps.h"

namespace luatrace::record {

// Has the file system of that mapping once not answered (and many have not)? Then it is not asked.
bool is_given_up(const Mapping& m);
void give_up(const Mapping& m);

// Runs the job, which asks the file system of that mapping and makes nothing but system calls
// (helper.h), in a process that has no descriptors of ours; what the job puts into its span, up to
// 4,096 bytes, comes back in `out`. Returns how many, or -1: it has not answered within 0.2 s (then
// it is killed and left to the kernel, and its file system given up), or could not be asked.
ssize_t run_apart(const Mapping& m, const std::function<size_t(std::span<std::byte>)>& job,
                  std::span<std::byte> out);

// Is that file of the process on a file system that may not answer? By its table of mounts.
bool may_not_answer(pid_t pid, const Mapping& m);

// Would reading that memory of the process, a part of the mapping, come to an end? Asks where the
// pages are not there already.
bool memory_answers(pid_t pid, const Mapping& m, uint64_t address, size_t size);

}  // namespace luatrace::record
