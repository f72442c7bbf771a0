// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/call_tree.h"

#include <bit>
#include <stdexcept>

#include "analyzer/decode/random_hash.h"
#include "analyzer/stacks/functions.h"

namespace luatrace {
namespace {

constexpr size_t kFirstSlots = 64;

uint32_t shift_for(size_t slots) {
  return 64 - static_cast<uint32_t>(std::countr_zero(slots));
}

}  // namespace

CallTree::CallTree()
    : nodes_(1),
      hashes_(1, 0x9e3779b97f4a7c15u),
      slots_(kFirstSlots),
      shift_(shift_for(kFirstSlots)),
      factor_(random_factor()) {}

uint32_t CallTree::add(uint32_t node, uint32_t function, uint64_t hash, size_t slot) {
  if (!budget_) return make(node, function, hash, slot);
  // Unknown time stays unknown; there is at most one such node for each coroutine's place.
  if (nodes_[node].function == kPrunedFunction)
    return function == kUnknownFunction ? enter(0, function) : node;
  if (function == kUnknownFunction || budget_->take()) return make(node, function, hash, slot);
  return pruned(node);
}

uint32_t CallTree::make(uint32_t node, uint32_t function, uint64_t hash, size_t slot) {
  if (nodes_.size() > UINT32_MAX) throw std::length_error("the call tree has 2^32 nodes");
  const auto child = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({0, 0, function, node, 0, 0});
  hashes_.push_back(hash);
  slots_[slot] = {key_of(node, function), child, static_cast<uint32_t>(hash >> 32)};
  if (nodes_.size() * 2 > slots_.size()) grow();
  return child;
}

// The child [pruned] of `node`.
uint32_t CallTree::pruned(uint32_t node) {
  const uint64_t key = key_of(node, kPrunedFunction);
  const uint64_t hash = child_hash(hashes_[node], kPrunedFunction);
  const size_t mask = slots_.size() - 1;
  size_t at = place_of(hash);
  for (; slots_[at].key != 0; at = (at + 1) & mask)
    if (slots_[at].key == key) return slots_[at].child;
  if (node == 0 || budget_->take_pruned()) return make(node, kPrunedFunction, hash, at);
  return pruned(0);
}

void CallTree::grow() {
  HugeVector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  shift_--;
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.key == 0) continue;
    size_t at = place_of(uint64_t{slot.hash} << 32);
    while (slots_[at].key != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace luatrace
