// SPDX-License-Identifier: MIT
#include "recorder/direct/taken_rings.h"

namespace luatrace::record::direct {
namespace {

constexpr size_t kMaxRings = 65536, kMaxWithoutRing = 65536;

}  // namespace

bool TakenRings::has(uint64_t vm, uint32_t recording) const {
  const auto it = taken_.find(vm);
  return it != taken_.end() && it->second == recording;
}

// A Lua VM that is closing has no ring any more, one that is opening has none yet: neither counts
// as one without.
void TakenRings::insert(uint64_t vm, uint32_t recording) {
  taken_.insert_or_assign(vm, recording);
  without_ring_.erase(vm);
  count_++;
}

// The kernel numbers them in ascending order: the first is the oldest.
void TakenRings::insert_ring(uint64_t inode) {
  rings_.insert(inode);
  if (rings_.size() > kMaxRings) rings_.erase(rings_.begin());
}

void TakenRings::insert_ringless(uint64_t vm) {
  if (without_ring_.size() < kMaxWithoutRing && !taken_.contains(vm)) without_ring_.insert(vm);
}

void TakenRings::keep(const std::set<uint64_t>& existing) {
  std::erase_if(taken_, [&](const auto& entry) { return !existing.contains(entry.first); });
}

}  // namespace luatrace::record::direct
