// SPDX-License-Identifier: MIT
// Facts about processes from /proc, and waiting for their end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::record {

struct ProcessFacts {
  pid_t parent = 0;
  pid_t ns_pid = 0;     // in its own namespace
  uid_t uid = 0;        // effective
  std::string exe;      // empty if unreadable
  std::string cmdline;  // NUL between the arguments
  std::string image;    // differs between programs run by one process (exec), as far as visible;
                        // unchanged if its title changes or its program's file is replaced
};

ProcessFacts read_process(pid_t pid);

// Its effective user; 0 if it has ended.
uid_t user_of(pid_t pid);

// The CPU time of all its threads, also of those that have ended, in ns (counted in ticks of 10
// ms); 0 if it has ended.
uint64_t cpu_time_of(pid_t pid);

// Its command line, or the title that replaced it; empty if it has ended, or has executed another
// program than `image`.
std::string read_title(pid_t pid, const std::string& image);

// The target of a symbolic link; empty if it cannot be read.
std::string read_link(const std::string& path);

// The content of a file of /proc, up to `max_size` bytes; empty if it cannot be read.
std::string read_proc(pid_t pid, const char* name, size_t max_size = 1u << 20);

// The text of /proc/PID/status; empty if it cannot be read.
std::string read_status(pid_t pid);

// The numbers after "NAME:" in such a text, or one of fdinfo (not of the first line); empty if they
// are missing.
std::vector<uint64_t> status_numbers(const std::string& status, const std::string& name,
                                     int base = 10);
// The first of them, or 0.
uint64_t status_number(const std::string& status, const std::string& name, int base = 10);

// The process id in the process's own namespace; the one in ours if that is not known.
pid_t pid_inside(pid_t pid);

// The thread that has this id in the process's own namespace, by its id in ours; 0: there is none.
pid_t thread_outside(pid_t pid, uint32_t inside);

// A process's parent, and when it was started, in ticks of /proc. parent: 0 if it is not in our
// process namespace, -1 if /proc does not show the process (any more).
struct Birth {
  pid_t parent = -1;
  uint64_t start = 0;
};
Birth read_birth(pid_t pid);

// A descriptor that becomes readable when the process ends, -1 if there is none (then use
// process_is_gone()). peer: a connected socket of that process, or -1.
int open_pidfd(pid_t pid, int peer);

// The current children of a process; empty also if not known. Without those that still share its
// memory (CLONE_VM: vfork, and with it system() and popen()): until they execute something, its
// control word and ring would be taken for theirs.
std::vector<pid_t> children_of(pid_t pid);

// Do two processes share their memory (CLONE_VM)? False also if not known, see kcmp(2).
bool shares_memory(pid_t a, pid_t b);

// The entries of a directory of /proc that are numbers; none if it cannot be read.
std::vector<pid_t> numbers_in(const std::string& path);

// All processes that /proc shows.
std::vector<pid_t> all_processes();

// "4711" or "7@4711".
bool is_process_spec(const std::string& spec);

// Such a process: process 7 in the process namespace of 4711. 0 and the reason if there is none.
pid_t find_process(const std::string& spec, std::string& why);

// The file that a process runs: device and inode, the same in all namespaces; zeros: not known.
std::pair<uint64_t, uint64_t> program_of(pid_t pid);

// A kernel thread has a process id but no program.
bool is_kernel_thread(pid_t pid);
// Is its program one of 32 bits?
bool has_32_bits(pid_t pid);

// No such process, or a zombie.
bool process_is_gone(pid_t pid);

// The same, or about to be: it runs no program any more.
bool process_is_ending(pid_t pid);

}  // namespace luatrace::record
