// SPDX-License-Identifier: MIT
// CodeScale: what the machine code of a described trace weighs where its time is apportioned, if
// that is not its bytes (machine/code_weights.h). Invariant: it rises with the offset, up to kMax.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/read/model.h"
#include "luatrace_format.h"

namespace luatrace::analyze {

// The weight of the code of a trace that is before an offset.
class CodeScale {
 public:
  static constexpr uint64_t kUnit = 16;  // Of a byte with the factor 1.
  // Of a trace, so that what a word stands for does not overflow.
  static constexpr uint64_t kMax = uint64_t{LT_SEGMENT_CODE_MAX} * kUnit;

  CodeScale() = default;
  // By bytes, and by the costs of the description.
  explicit CodeScale(const SegmentInfo& trace);

  // Adds code up to that offset.
  void add(uint32_t end, double factor);
  uint64_t before(uint64_t offset) const;
  // Of the code from `begin` to `end`, which is more: its mean factor.
  double factor(uint64_t begin, uint64_t end) const {
    return static_cast<double>(before(end) - before(begin)) /
           static_cast<double>(kUnit * (end - begin));
  }

 private:
  std::vector<uint32_t> edges_ = {0};
  std::vector<uint64_t> weights_ = {0};
};

// Of a stream, by the ids of its descriptions.
using StreamWeights = std::map<uint32_t, CodeScale>;

}  // namespace luatrace::analyze
