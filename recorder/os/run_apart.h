// SPDX-License-Identifier: MIT
// Reads files that may never answer: on a file system that is a program (FUSE) or another machine
// (NFS, ...). The kernel may not interrupt such a read, not even for SIGKILL. So it is done in a
// separate process, and given up after a while; a file system that has not answered once is not
// asked again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "recorder/os/maps.h"
#include "trace/descriptor.h"

namespace luatrace::record {

// Has the file system of that mapping failed to answer (or have too many)? Then it is not asked.
bool is_given_up(const Mapping& m);
void give_up(const Mapping& m);

// Stands for all file systems to which names from that process may lead: what is not answered is
// given up for all processes of its user.
Mapping named_by(pid_t pid);

// Runs the job, which asks the file system of that mapping and makes only system calls (helper.h),
// in a process without descriptors of ours; the job's output, up to 4,096 bytes, comes back in
// `out`. Returns its size, or -1: no answer within 0.2 s (then the process is killed and left to
// the kernel, and its file system given up), or it could not be asked.
ssize_t run_apart(const Mapping& m, const std::function<size_t(std::span<std::byte>)>& job,
                  std::span<std::byte> out);

// Is that mapping not of a file system on a block device? Only then it may not answer.
bool is_on_no_disk(const Mapping& m);

// Is that file of the process on a file system that may not answer? According to the tables of
// mounts, its own and ours: one that is in neither may not.
bool may_not_answer(pid_t pid, const Mapping& m);

// The same for a file that was opened with O_PATH through the process.
bool file_may_not_answer(pid_t pid, int file);

// Which pages of a process are in memory.
class PageMap {
 public:
  explicit PageMap(pid_t pid);

  // Does this kernel say it at all? (gVisor does not.)
  static bool are_known();
  // Are all pages of that memory (up to 4 MB)? Then reading it returns.
  bool is_in_memory(uint64_t address, size_t size) const;

 private:
  Descriptor fd_;
};

// Would reading that memory of the process, a part of the mapping, return? If the pages are not in
// memory, asks the file system; memory for which another program answers (userfaultfd) does not.
bool memory_answers(pid_t pid, const Mapping& m, uint64_t address, size_t size);

// The same for memory anywhere in the process. all: its mappings. False also if a part of it is in
// none of them.
bool memory_answers(pid_t pid, const std::vector<Mapping>& all, uint64_t address, size_t size);

}  // namespace luatrace::record
