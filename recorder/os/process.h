// SPDX-License-Identifier: MIT
// What /proc tells about a process, and waiting for its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::record {

struct ProcessFacts {
  pid_t parent = 0;
  pid_t ns_pid = 0;     // as it sees itself
  uid_t uid = 0;        // effective
  std::string exe;      // empty if unreadable
  std::string cmdline;  // NUL between the arguments
  std::string image;    // differs from image to image of one process (exec), as far as we may see;
                        // the same when its title changes or its program's file is replaced
};

ProcessFacts read_process(pid_t pid);

// Its command line, or what it made of it (its title); empty if it has ended, or has become another
// image than that one.
std::string read_title(pid_t pid, const std::string& image);

// What a symbolic link holds; empty if it cannot be read.
std::string read_link(const std::string& path);

// The content of a file of /proc, at most `most` bytes; empty if it cannot be read.
std::string read_proc(pid_t pid, const char* name, size_t most = 1u << 20);

// The number of a process as it sees itself, in its own process namespace. That of ours if it
// cannot be told.
pid_t pid_inside(pid_t pid);

// Is a process that one, or a descendant of it whose ancestors up to there all live? False also if
// /proc does not show it (any more).
bool descends_from(pid_t pid, pid_t ancestor);

// A descriptor that becomes readable when the process ends, -1 if that cannot be had (then ask
// process_is_gone()). peer: a connected socket of that process, or -1.
int open_pidfd(pid_t pid, int peer);

// Children of a process now; empty also if that cannot be told. Not those that still have its
// memory (CLONE_VM: vfork, and with it system() and popen()): until they execute something, its
// control word and ring would be taken for theirs.
std::vector<pid_t> children_of(pid_t pid);

// Have two processes one memory (CLONE_VM)? False also if that cannot be told, see kcmp(2).
bool shares_memory(pid_t a, pid_t b);

// All processes that /proc shows.
std::vector<pid_t> all_processes();

// "4711" or "7@4711".
bool is_process_spec(const std::string& spec);

// Such a one: what is 7 in the process namespace of 4711. 0 and why if there is none.
pid_t find_process(const std::string& spec, std::string& why);

// Which file a process runs: device and inode, the same in all namespaces; zeros: cannot be told.
std::pair<uint64_t, uint64_t> program_of(pid_t pid);

// A thread of the kernel has a process id but no program.
bool is_kernel_thread(pid_t pid);

// No such process, or a zombie.
bool process_is_gone(pid_t pid);

// The same, or on its way there: it runs no program any more.
bool process_is_ending(pid_t pid);

}  // namespace luatrace::record
