// SPDX-License-Identifier: MIT
// GuardedMemory: the memory of a process at addresses that the process has chosen. Invariants: it
// may be a mapping of a file system that never answers (run_apart.h), or one of very many mappings:
// no access waits for the former, and looking for such mappings takes up to a limit at a time, and
// a tenth of the time in all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "recorder/os/run_apart.h"

namespace luatrace::record {

class GuardedMemory {
 public:
  // limit_ns: for looking for mappings at a time, or the time of four looks if that is longer.
  explicit GuardedMemory(pid_t pid, uint64_t limit_ns = 1'000'000'000)
      : pid_(pid), limit_ns_(limit_ns) {}

  // May it be accessed now? False: the answer might not come.
  bool may_access(uint64_t address, size_t size);
  bool may_access(const PageMap& pages, uint64_t address, size_t size);
  // False: it is not mapped, may not be read, or the answer might not come.
  bool read(uint64_t address, void* to, size_t size);
  template <class T>
  bool read(uint64_t address, T& to) {
    return read(address, &to, sizeof to);
  }

 private:
  bool answers(uint64_t address, size_t size) const;

  pid_t pid_;
  uint64_t limit_ns_;
  uint64_t spent_ns_ = 0;  // looking for the mappings of pages that are not in memory, lately
  uint64_t last_ns_ = 0;   // when it did that last
  size_t looks_ = 0;       // since spent_ns_ was 0
};

}  // namespace luatrace::record
