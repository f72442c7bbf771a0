// SPDX-License-Identifier: MIT
// The position of a call relative to the call path filters: at or below a function of -F, -N, -C.
// It follows from the caller's position and the called function, and is a set of a few bits.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/filter/filter_plan.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/machine/functions.h"

namespace luatrace::analyze {

class CallPath {
 public:
  static constexpr uint32_t kInside = 1;    // At or below a function of -F, or there is no -F.
  static constexpr uint32_t kExcluded = 2;  // At or below a function of -N.
  static constexpr uint32_t kReached = 4;   // At or below a function of -C, ...
  static constexpr uint32_t kTarget = 8;    // ... and this is the outermost such call.

  // Other threads may add to `functions` meanwhile.
  CallPath(const FilterPlan& plan, const FunctionTable& functions, const SymbolFinder& symbols);

  uint32_t root() const { return only_.empty() ? kInside : 0; }
  // Returns the position of a call of `function` (kFirstFunction or greater) whose caller's
  // position is `caller`.
  uint32_t enter(uint32_t caller, FunctionId function) {
    const uint32_t matches = matches_of(function);
    const uint32_t place = (caller & ~kTarget) | (matches & (kInside | kExcluded));
    const bool searched = (place & (kInside | kExcluded | kReached)) == kInside;
    return searched && (matches & kTarget) ? place | kReached | kTarget : place;
  }
  // Returns the name that patterns are matched against.
  FunctionName described(FunctionId function) const;

 private:
  static constexpr uint8_t kComputed = 128;
  uint32_t matches_of(FunctionId function) {
    if (function < matches_.size() && matches_[function]) [[likely]]
      return matches_[function];
    return match(function);
  }
  uint32_t match(FunctionId function);

  const FunctionTable* const known_;
  const FunctionTable& table_;
  const SymbolFinder& symbols_;
  const FunctionPatterns only_, without_, callers_;
  std::vector<uint8_t> matches_;  // By function: bits as in positions; 0: not computed yet.
};

}  // namespace luatrace::analyze
