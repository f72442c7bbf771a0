// SPDX-License-Identifier: MIT
// TakenRings: which rings of a process have been opened, and which of its Lua VMs have none.
// Invariant: it remembers a bounded number of Lua VMs and rings, whatever the process claims and
// however long it opens and closes Lua VMs; those that still exist are remembered first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

namespace luatrace::record::direct {

class TakenRings {
 public:
  // Was the ring of that recording opened, usable or not? Of a Lua VM the last one counts.
  bool has(uint64_t vm, uint32_t recording) const;
  void insert(uint64_t vm, uint32_t recording);
  // Rings by their inode.
  bool has_ring(uint64_t inode) const { return rings_.contains(inode); }
  void insert_ring(uint64_t inode);
  // A Lua VM that answered and has no ring now.
  void insert_ringless(uint64_t vm);

  uint64_t count() const { return count_; }                 // rings ever opened, usable or not
  size_t ringless() const { return without_ring_.size(); }  // Lua VMs that never had a ring
  // Are there so many that it must know which exist? `existing`: how many that are.
  bool is_full(size_t existing) const { return taken_.size() > kMaxEnded + 2 * existing; }
  // Forgets Lua VMs that had a ring and are not among these.
  void keep(const std::set<uint64_t>& existing);
  size_t remembered() const { return taken_.size() + rings_.size() + without_ring_.size(); }

 private:
  static constexpr size_t kMaxEnded = 4096;  // Lua VMs, besides twice the existing ones

  std::map<uint64_t, uint32_t> taken_;  // by Lua VM: the last recording
  std::set<uint64_t> rings_;
  std::set<uint64_t> without_ring_;
  uint64_t count_ = 0;
};

}  // namespace luatrace::record::direct
