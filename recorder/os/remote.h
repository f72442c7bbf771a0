// SPDX-License-Identifier: MIT
// RemoteMemory: the memory of another process, read and written with the permissions of a debugger
// but without stopping the process. Invariant: nothing is written outside the ranges that the
// caller names, and a short write is an error.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace luatrace::record {

class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}
  pid_t pid() const { return pid_; }

  // 0, or errno: EPERM (permission denied), ESRCH (no such process), EFAULT (not mapped).
  int read(uint64_t address, void* to, size_t size) const;
  int write(uint64_t address, const void* from, size_t size) const;

  template <class T>
  int read(uint64_t address, T& to) const {
    return read(address, &to, sizeof to);
  }
  template <class T>
  int write(uint64_t address, const T& from) const {
    return write(address, &from, sizeof from);
  }

 private:
  pid_t pid_;
};

// Why this process may not read or write the memory of that one, and what to do about it: the rest
// of a sentence about the process. error: the kernel's errno.
std::string explain_no_access(pid_t pid, int error);

// The facts behind the explanation; separate so that every answer can be tested.
struct AccessFacts {
  uint32_t our_uid = 0, uid = 0;   // effective
  bool other_ids = false;          // the process has a uid or gid that differs from ours
  bool have_ptrace = false;        // we have CAP_SYS_PTRACE
  bool same_user_ns = true;        // same as the process's
  bool dumpable = true;            // its /proc files belong to it
  bool more_capabilities = false;  // it has some that we lack
  int yama = 0;                    // kernel.yama.ptrace_scope
};
AccessFacts access_facts(pid_t pid);
std::string explain_access(const AccessFacts& facts, int error);

// Does it run, or did it start, with other permissions than those of the user who started it? Then
// no user may trace it. Empty, or the evidence.
std::string set_id_reason(pid_t pid);

}  // namespace luatrace::record
