// SPDX-License-Identifier: MIT
// Where coroutines may be. A VM lists its objects by their age, and there may be many millions: too
// many for the time that a process may stand still. So its memory is searched before, while it runs
// on; only what is newer is looked up in that list while it stands still. Invariants: the search
// reads only anonymous memory that is present, so it waits for nobody and brings nothing back from
// swap space; its results are candidates, to be checked when the process stands still (vm.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recorder/stack/layout.h"
#include "recorder/stack/memory.h"

namespace luatrace::record::stack {

class Search {
 public:
  // vms: addresses of their global_State.
  Search(pid_t pid, const Layout& layout, const std::vector<uint64_t>& vms);

  // Candidates of that VM.
  const std::vector<uint64_t>& of(uint64_t vm) { return found_[vm]; }
  // Adds those that were created since, in a process that stands still. False: there may be more.
  bool add_newer(Memory& memory, uint64_t vm);
  // Was all memory searched?
  bool is_complete() const { return complete_; }

 private:
  bool follow_newest(Memory& memory, uint64_t vm, std::unordered_set<uint64_t>& newest);
  void catch_up();
  void search(uint64_t begin, uint64_t end);
  void search_block(uint64_t begin, size_t size);

  pid_t pid_;
  const Layout& layout_;
  std::vector<uint64_t> vms_;  // sorted
  PageMap pages_;
  std::vector<uint64_t> block_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> found_;        // by VM
  std::unordered_map<uint64_t, std::unordered_set<uint64_t>> seen_;  // the newest objects before
  size_t count_ = 0;
  uint64_t limit_ns_;
  bool complete_ = true, caught_up_ = true;
};

}  // namespace luatrace::record::stack
