// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/call_tree.h"

#include <stdexcept>

namespace luatrace {
uint32_t CallTree::other_child(uint32_t node, uint32_t function) {
  const uint64_t key = key_of(node, function);
  const size_t mask = slots_.size() - 1;
  size_t at = hash(key) & mask;
  while (slots_[at].key != key) {
    if (slots_[at].key == 0) return add(node, function, at);
    at = (at + 1) & mask;
  }
  nodes_[node].last_function = function;
  return nodes_[node].last = slots_[at].child;
}

uint32_t CallTree::add(uint32_t node, uint32_t function, size_t slot) {
  if (nodes_.size() > UINT32_MAX) throw std::length_error("the call tree has 2^32 nodes");
  auto child = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({0, 0, function, node, 0, 0});
  slots_[slot] = {key_of(node, function), child};
  if (nodes_.size() * 8 > slots_.size() * 5) grow();
  nodes_[node].last_function = function;
  return nodes_[node].last = child;
}

void CallTree::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.key == 0) continue;
    size_t at = hash(slot.key) & mask;
    while (slots_[at].key != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace luatrace
