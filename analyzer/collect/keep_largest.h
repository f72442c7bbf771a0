// SPDX-License-Identifier: MIT
// For logs that keep only the items that a view shows, whatever the number of items in the trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace luatrace::analyze {

// Keeps the `limit` largest items (0: all) in a heap with the smallest first. Ties are won by the
// lower stream, then the lower serial, so that the order of insertion makes no difference.
template <class T, class Rank>
void keep_largest(std::vector<T>& heap, size_t limit, T item, Rank rank) {
  auto above = [&](const T& a, const T& b) {
    const auto left = rank(a), right = rank(b);
    return left != right ? left > right
                         : std::tie(a.stream, a.serial) < std::tie(b.stream, b.serial);
  };
  if (limit && heap.size() >= limit) {
    if (!above(item, heap.front())) return;
    std::pop_heap(heap.begin(), heap.end(), above);
    heap.pop_back();
  }
  heap.push_back(std::move(item));
  std::push_heap(heap.begin(), heap.end(), above);
}

}  // namespace luatrace::analyze
