// SPDX-License-Identifier: MIT
#include "analyzer/machine/code_scale.h"

#include <algorithm>

namespace luatrace::analyze {

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
