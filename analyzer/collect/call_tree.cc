// SPDX-License-Identifier: MIT
#include "analyzer/collect/call_tree.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>
#include <vector>

#include "analyzer/machine/functions.h"
#include "base/random_hash.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kFirstSlots = 64;
constexpr uint64_t kRootHash = 0x9e3779b97f4a7c15u;

uint32_t shift_for(size_t slots) {
  return 64 - static_cast<uint32_t>(std::countr_zero(slots));
}

}  // namespace

CallTree::CallTree()
    : nodes_(1),
      hashes_(1, kRootHash),
      slots_(kFirstSlots),
      shift_(shift_for(kFirstSlots)),
      factor_(random_factor()) {}

uint32_t CallTree::add(uint32_t node, uint32_t function, uint64_t hash, size_t slot) {
  if (!budget_) return make(node, function, hash, slot);
  // Unknown time stays unknown; there is at most one such node per position of a coroutine.
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

// Returns the [pruned] child of `node`, or of the root if the budget for it is exhausted.
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

// Rehashes in place: a slot that occupies the new place of a moved one is the next to be moved.
void CallTree::grow() {
  const size_t before = slots_.size();
  slots_.resize(2 * before);
  shift_--;
  const size_t mask = slots_.size() - 1;
  std::vector<bool> settled(slots_.size());
  for (size_t i = 0; i < before; i++) {
    if (settled[i]) continue;
    for (Slot moving = std::exchange(slots_[i], {}); moving.key != 0;) {
      size_t at = place_of(uint64_t{moving.hash} << 32);
      while (settled[at]) at = (at + 1) & mask;
      settled[at] = true;
      std::swap(moving, slots_[at]);
    }
  }
}

void CallTree::drop_index() {
  hashes_ = {};
  slots_ = {};
}

void CallTree::make_index() {
  if (!slots_.empty()) return;
  slots_.resize(std::max(kFirstSlots, std::bit_ceil(2 * nodes_.size())));
  shift_ = shift_for(slots_.size());
  hashes_.resize(nodes_.size());
  hashes_[0] = kRootHash;
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 1; i < nodes_.size(); i++) {
    const CallNode& n = nodes_[i];
    hashes_[i] = child_hash(hashes_[n.parent], n.function);
    size_t at = place_of(hashes_[i]);
    while (slots_[at].key != 0) at = (at + 1) & mask;
    slots_[at] = {key_of(n.parent, n.function), i, static_cast<uint32_t>(hashes_[i] >> 32)};
  }
}

}  // namespace luatrace::analyze
