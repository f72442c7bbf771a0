// SPDX-License-Identifier: MIT
// A set of mostly consecutive ids, such as the VM's coroutine ids, kept as ranges so that millions
// of them need hardly any memory.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace luatrace::analyze {

class IdSet {
 public:
  void add(uint32_t id) {
    auto next = ranges_.upper_bound(id);  // The first range that begins after `id`.
    auto own = next == ranges_.begin() ? ranges_.end() : std::prev(next);
    if (own != ranges_.end() && id <= own->second) return;
    count_++;
    const bool extends = own != ranges_.end() && own->second + 1 == id;
    const bool meets = next != ranges_.end() && next->first - 1 == id;
    const uint32_t last = meets ? next->second : id;
    if (meets) ranges_.erase(next);
    if (extends)
      own->second = last;
    else
      ranges_.emplace(id, last);
  }
  uint64_t count() const { return count_; }

 private:
  std::map<uint32_t, uint32_t> ranges_;  // First id of a range → its last.
  uint64_t count_ = 0;
};

}  // namespace luatrace::analyze
