// SPDX-License-Identifier: MIT
// Where a call is with regard to the filters of call paths: behind a function of -F, of -N, of -C.
// It follows from the caller's place and the function called, so a place is a few bits.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/filter/filter_plan.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/machine/functions.h"

namespace luatrace::analyze {

class CallPath {
 public:
  static constexpr uint32_t kInside = 1;    // Behind a function of -F, or there is no -F.
  static constexpr uint32_t kExcluded = 2;  // Behind a function of -N.
  static constexpr uint32_t kReached = 4;   // Behind a function of -C, ...
  static constexpr uint32_t kTarget = 8;    // ... and this call is the outermost one of it.

  // Others may add to `functions`, too.
  CallPath(const FilterPlan& plan, const FunctionTable& functions, const SymbolFinder& symbols);

  uint32_t root() const { return only_.empty() ? kInside : 0; }
  // The place of a call of `function`, not less than kFirstFunction, by one at `caller`.
  uint32_t enter(uint32_t caller, uint32_t function) {
    const uint32_t matches = matches_of(function);
    const uint32_t place = (caller & ~kTarget) | (matches & (kInside | kExcluded));
    const bool searched = (place & (kInside | kExcluded | kReached)) == kInside;
    return searched && (matches & kTarget) ? place | kReached | kTarget : place;
  }
  // What patterns are matched with.
  FunctionName described(uint32_t function) const;

 private:
  static constexpr uint8_t kAsked = 128;
  uint32_t matches_of(uint32_t function) {
    if (function < matches_.size() && matches_[function]) [[likely]]
      return matches_[function];
    return match(function);
  }
  uint32_t match(uint32_t function);

  const FunctionTable* const known_;
  const FunctionTable& table_;
  const SymbolFinder& symbols_;
  const FunctionPatterns only_, without_, callers_;
  std::vector<uint8_t> matches_;  // By function: bits as of places; 0: not asked for yet.
};

}  // namespace luatrace::analyze
