// SPDX-License-Identifier: MIT
#include "analyzer/collect/profile.h"

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

NodeId CallTree::add(NodeId node, uint32_t function, uint64_t hash, size_t slot) {
  if (!budget_) return make(node, function, hash, slot);
  // Unknown time stays unknown; there is at most one such node per position of a coroutine.
  if (nodes_[node].function == kPrunedFunction)
    return function == kUnknownFunction ? enter(kRootNode, function) : node;
  if (function == kUnknownFunction || budget_->take()) return make(node, function, hash, slot);
  return pruned(node);
}

NodeId CallTree::make(NodeId node, uint32_t function, uint64_t hash, size_t slot) {
  if (nodes_.size() > UINT32_MAX) throw std::length_error("the call tree has 2^32 nodes");
  const NodeId child(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back({0, 0, function, node, NodeId(), 0});
  hashes_.push_back(hash);
  slots_[slot] = {pair_key(node, function), child, static_cast<uint32_t>(hash >> 32)};
  if (nodes_.size() * 2 > slots_.size()) grow();
  return child;
}

// Returns the [pruned] child of `node`, or of the root if the budget for it is exhausted.
NodeId CallTree::pruned(NodeId node) {
  const uint64_t key = pair_key(node, kPrunedFunction);
  const uint64_t hash = child_hash(hashes_[node], kPrunedFunction);
  const size_t mask = slots_.size() - 1;
  size_t at = place_of(hash);
  for (; slots_[at].key != 0; at = (at + 1) & mask)
    if (slots_[at].key == key) return slots_[at].child;
  if (node == kRootNode || budget_->take_pruned()) return make(node, kPrunedFunction, hash, at);
  return pruned(kRootNode);
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
  for (NodeId i{1}; i < nodes_.size(); ++i) {
    const CallNode& n = nodes_[i];
    hashes_[i] = child_hash(hashes_[n.parent], n.function);
    size_t at = place_of(hashes_[i]);
    while (slots_[at].key != 0) at = (at + 1) & mask;
    slots_[at] = {pair_key(n.parent, n.function), i, static_cast<uint32_t>(hashes_[i] >> 32)};
  }
}

// Parents come before their children, so a parent's place is known when its children need it.
std::vector<NodeId> Profile::add(const Profile& other, const std::vector<FunctionId>* same) {
  tree_.limit(nullptr);  // The nodes of both trees were counted when they were made.
  std::vector<NodeId> place(other.tree_.size());
  for (NodeId i; i < other.tree_.size(); ++i) {
    const CallNode& from = other.tree_[i];
    const uint32_t function = same ? (*same)[from.function] : from.function;
    if (i) place[i] = tree_.enter(place[from.parent], function);
    CallNode& to = tree_[place[i]];
    to.self += from.self;
    to.calls += from.calls;
    if (uint64_t ticks = other.suspended_at(i)) suspended(place[i], ticks);
    if (uint64_t ticks = other.off_cpu_at(i)) off_cpu(place[i], ticks);
    if (uint64_t ticks = other.apportioned_at(i)) apportioned(place[i], ticks);
    if (uint64_t ns = other.compiled_at(i)) compiled(place[i], ns);
    if (other.has_charges()) charged(place[i], other.charged_at(i));
  }
  stats_.resize(std::max(stats_.size(), other.stats_.size()));
  for (size_t f = 0; f < other.stats_.size(); f++) stats_[f] += other.stats_[f];
  inside_.resize(std::max(inside_.size(), other.inside_.size()));
  for (size_t f = 0; f < other.inside_.size(); f++) inside_[f] += other.inside_[f];
  return place;
}

}  // namespace luatrace::analyze
