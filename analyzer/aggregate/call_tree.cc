// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/call_tree.h"

#include <stdexcept>

namespace luatrace {
namespace {

uint64_t hash(uint32_t parent, uint32_t function) {
  uint64_t h = (uint64_t{parent} << 32 | function) * 0x9e3779b97f4a7c15u;
  return (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
}

constexpr uint64_t kTag = ~uint64_t{0} << 32;

}  // namespace

uint32_t CallTree::other_child(uint32_t node, uint32_t function) {
  if (nodes_[node].children > 1) {
    uint64_t h = hash(node, function);
    for (size_t mask = slots_.size() - 1, at = h & mask; slots_[at] != 0; at = (at + 1) & mask) {
      if ((slots_[at] ^ h) & kTag) continue;
      auto child = static_cast<uint32_t>(slots_[at]);
      if (nodes_[child].function == function && nodes_[child].parent == node)
        return nodes_[node].last = child;
    }
  }
  return add(node, function);
}

uint32_t CallTree::add(uint32_t node, uint32_t function) {
  if (nodes_.size() > UINT32_MAX) throw std::length_error("the call tree has 2^32 nodes");
  auto child = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({0, 0, function, node, 0, 0});
  uint32_t children = ++nodes_[node].children;
  if (children == 2) insert(nodes_[node].last);
  if (children >= 2) insert(child);
  return nodes_[node].last = child;
}

void CallTree::insert(uint32_t child) {
  if (++used_ * 2 > slots_.size()) grow();
  uint64_t h = hash(nodes_[child].parent, nodes_[child].function);
  size_t mask = slots_.size() - 1, at = h & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = (h & kTag) | child;
}

void CallTree::grow() {
  std::vector<uint64_t> old(slots_.size() * 2);
  old.swap(slots_);
  size_t mask = slots_.size() - 1;
  for (uint64_t slot : old) {
    if (slot == 0) continue;
    const CallNode& n = nodes_[static_cast<uint32_t>(slot)];
    size_t at = hash(n.parent, n.function) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace luatrace
