// SPDX-License-Identifier: MIT
// TargetMemory: as RemoteMemory, for addresses that the process has chosen: it may have put there
// what does not answer (os/guarded_memory.h), at any time. Invariant: that is not waited for.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "recorder/os/guarded_memory.h"
#include "recorder/os/remote.h"

namespace luatrace::record::vm {

class TargetMemory {
 public:
  explicit TargetMemory(pid_t pid) : remote_(pid), guard_(pid, kLookingNs) {}
  pid_t pid() const { return remote_.pid(); }

  // 0, or errno, as RemoteMemory; ETIMEDOUT: it might not answer. pages: of the process, opened for
  // several accesses.
  int read(const PageMap& pages, uint64_t address, void* to, size_t size) const {
    return guard_.may_access(pages, address, size) ? remote_.read(address, to, size) : ETIMEDOUT;
  }
  int read(uint64_t address, void* to, size_t size) const {
    return read(PageMap(pid()), address, to, size);
  }
  int write(uint64_t address, const void* from, size_t size) const {
    return guard_.may_access(address, size) ? remote_.write(address, from, size) : ETIMEDOUT;
  }

  template <class T>
  int read(uint64_t address, T& to) const {
    return read(address, &to, sizeof to);
  }
  template <class T>
  int write(uint64_t address, const T& from) const {
    return write(address, &from, sizeof from);
  }

 private:
  static constexpr uint64_t kLookingNs = 200'000'000;

  RemoteMemory remote_;
  mutable GuardedMemory guard_;
};

}  // namespace luatrace::record::vm
