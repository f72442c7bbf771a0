// SPDX-License-Identifier: MIT
#include "recorder/direct/marks.h"

#include <algorithm>
#include <cstddef>

#include "recorder/os/run_apart.h"

namespace luatrace::record::direct {
namespace {

constexpr size_t kMaxEnded = 1024;

}  // namespace

void Marks::insert(const vm::Target& target) {
  Mark& mark = marks_[target.image().control];
  mark.image = target.image();
  mark.token = target.token();
  mark.users++;
  ended_.erase(mark.end);
}

void Marks::remove(const vm::Target& target) {
  const auto it = marks_.find(target.image().control);
  if (it == marks_.end() || it->second.users == 0 || --it->second.users > 0) return;
  it->second.end = ++ends_;
  ended_[ends_] = it->first;
  if (ended_.size() <= kMaxEnded) return;
  marks_.erase(ended_.begin()->second);
  ended_.erase(ended_.begin());
}

// Most processes have nothing there, which would be looked up in their mappings. In a fork the page
// is in memory, as in its parent.
bool Marks::are_in(pid_t pid, uint64_t owner) const {
  const PageMap pages(pid);
  return std::any_of(marks_.begin(), marks_.end(), [&](const auto& entry) {
    const Mark& mark = entry.second;
    const uint64_t there = mark.image.control + offsetof(lt_control, owner);
    if (PageMap::are_known() && !pages.is_in_memory(there, sizeof owner)) return false;
    return vm::Target(pid, mark.image, owner, mark.token).is_ours();
  });
}

}  // namespace luatrace::record::direct
