// SPDX-License-Identifier: MIT
// GuardedMemory: as RemoteMemory, for addresses that the process has chosen. Invariants: there may
// be, at any time, a mapping of a file system that never answers (run_apart.h), or one of very many
// mappings: no access waits for the former, and looking for such mappings takes up to a limit at a
// time, and a tenth of the time in all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "recorder/os/remote.h"
#include "recorder/os/run_apart.h"

namespace luatrace::record {

class GuardedMemory {
 public:
  // limit_ns: for looking for mappings at a time, or the time of four looks if that is longer.
  explicit GuardedMemory(pid_t pid, uint64_t limit_ns = 1'000'000'000)
      : memory_(pid), limit_ns_(limit_ns) {}
  pid_t pid() const { return memory_.pid(); }

  // 0, or errno, as RemoteMemory; ETIMEDOUT: the answer might not come. pages: of the process,
  // opened for several accesses.
  int read(const PageMap& pages, uint64_t address, void* to, size_t size) const;
  int read(uint64_t address, void* to, size_t size) const {
    return read(PageMap(pid()), address, to, size);
  }
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
  bool may_access(const PageMap& pages, uint64_t address, size_t size) const;
  bool answers(uint64_t address, size_t size) const;

  RemoteMemory memory_;
  uint64_t limit_ns_;
  mutable uint64_t spent_ns_ = 0;  // looking for mappings of pages not in memory, lately
  mutable uint64_t last_ns_ = 0;   // when it did that last
  mutable size_t looks_ = 0;       // since spent_ns_ was 0
};

}  // namespace luatrace::record
