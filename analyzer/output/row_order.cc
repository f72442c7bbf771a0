// SPDX-License-Identifier: MIT
#include "analyzer/output/row_order.h"

#include <algorithm>
#include <numeric>

namespace luatrace::analyze {

RowOrder::RowOrder(const std::vector<uint32_t>& parent, const std::vector<uint64_t>& weight,
                   size_t limit)
    : weight_(weight),
      links_(parent.size(), [&](NodeId node) { return NodeId(parent[node]); }),
      shown_(parent.size(), limit == 0 || parent.size() <= limit) {
  if (!shown_[0]) choose(parent, limit);
  push_children(0, 1);
  while (!stack_.empty()) {
    const Entry at = stack_.back();
    stack_.pop_back();
    if (!shown_[at.node]) {
      hidden++;
      continue;
    }
    rows.push_back(at);
    push_children(at.node, at.depth + 1);
  }
}

// Shows the call path of the greatest node, then of the next one, until no row is left. Each of
// the `limit` greatest nodes uses a row, so no others are needed.
void RowOrder::choose(const std::vector<uint32_t>& parent, size_t limit) {
  std::vector<uint32_t> order(parent.size() - 1);
  std::iota(order.begin(), order.end(), 1);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(limit, order.size()));
  std::partial_sort(order.begin(), end, order.end(),
                    [this](uint32_t a, uint32_t b) { return is_before(a, b); });
  for (auto node = order.begin(); node != end && limit; ++node) {
    std::vector<uint32_t> path;
    for (uint32_t at = *node; at && !shown_[at]; at = parent[at]) path.push_back(at);
    for (; !path.empty() && limit; path.pop_back(), limit--) shown_[path.back()] = true;
  }
}

// The last one pushed is shown first.
void RowOrder::push_children(uint32_t node, uint32_t depth) {
  const auto begin = static_cast<std::ptrdiff_t>(stack_.size());
  for (NodeId at = links_.child(NodeId(node)); at; at = links_.sibling(at))
    stack_.push_back({at, depth});
  std::sort(stack_.begin() + begin, stack_.end(),
            [this](const Entry& a, const Entry& b) { return is_before(b.node, a.node); });
}

}  // namespace luatrace::analyze
