// SPDX-License-Identifier: MIT
#include "analyzer/machine/code_scale.h"

#include <algorithm>

namespace luatrace::analyze {

CodeScale::CodeScale(const SegmentInfo& trace) {
  std::vector<uint32_t> exits;
  for (size_t i = trace.marks; i < trace.places.size(); i++)
    exits.push_back(trace.places[i].offset);
  std::sort(exits.begin(), exits.end());
  auto exit = exits.cbegin();
  for (const SegmentInfo::Cost& cost : trace.costs) {
    uint32_t begin = edges_.back();
    for (; exit != exits.cend() && *exit < cost.end; ++exit) begin = std::max(begin, *exit);
    if (begin > edges_.back()) add(begin, 1);
    add(cost.end, 1 + static_cast<double>(cost.bytes) / (cost.end - begin));
  }
  const uint32_t end = std::max(trace.bytes, exits.empty() ? 0 : exits.back());
  if (end > edges_.back()) add(end, 1);
}

void CodeScale::add(uint32_t end, double factor) {
  const double more = (end - edges_.back()) * factor * kUnit + 0.5;
  edges_.push_back(end);
  weights_.push_back(std::min(weights_.back() + static_cast<uint64_t>(more), kMax));
}

uint64_t CodeScale::before(uint64_t offset) const {
  const auto after =
      static_cast<size_t>(std::upper_bound(edges_.begin(), edges_.end(), offset) - edges_.begin());
  if (after == edges_.size()) return weights_.back();
  const uint64_t begin = edges_[after - 1], from = weights_[after - 1];
  return from + (weights_[after] - from) * (offset - begin) / (edges_[after] - begin);
}

}  // namespace luatrace::analyze
