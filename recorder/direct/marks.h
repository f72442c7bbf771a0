// SPDX-License-Identifier: MIT
// Marks: what forks of our processes have copied from them: our number in a control structure.
// Invariant: it knows the marks of all our processes, and of those that have ended the last 1,024:
// a fork whose parent has ended is found soon or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "recorder/vm/target.h"

namespace luatrace::record::direct {

class Marks {
 public:
  // A process has that mark.
  void insert(const vm::Target& target);
  // A process that had it has ended. Others may have the same.
  void remove(const vm::Target& target);
  // Has that process one of them, of that owner?
  bool are_in(pid_t pid, uint64_t owner) const;
  size_t size() const { return marks_.size(); }

 private:
  struct Mark {
    LuaImage image;
    uint8_t token = 0;
    size_t users = 0;
    uint64_t end = 0;  // when its last process ended, see ended_
  };
  std::map<uint64_t, Mark> marks_;      // by address of the control structure
  std::map<uint64_t, uint64_t> ended_;  // addresses, in the order of the ends
  uint64_t ends_ = 0;
};

}  // namespace luatrace::record::direct
