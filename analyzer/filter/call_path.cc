// SPDX-License-Identifier: MIT
#include "analyzer/filter/call_path.h"

#include "base/grow_array.h"

namespace luatrace::analyze {

CallPath::CallPath(const FilterPlan& plan, const FunctionTable& functions,
                   const SymbolFinder& symbols)
    : known_(plan.known),
      table_(functions),
      symbols_(symbols),
      only_(plan.options->only),
      without_(plan.options->without),
      callers_(plan.options->callers) {}

FunctionName CallPath::described(FunctionId function) const {
  const Function so_far = table_.copy(function);
  return describe(best_known(so_far, known_), symbols_);
}

uint32_t CallPath::match(FunctionId function) {
  uint8_t found = kComputed;
  if (!only_.empty() || !without_.empty() || !callers_.empty()) {
    const FunctionName f = described(function);
    if (only_.matches(f)) found |= kInside;
    if (without_.matches(f)) found |= kExcluded;
    if (callers_.matches(f)) found |= kTarget;
  }
  return grown(matches_, function) = found;
}

}  // namespace luatrace::analyze
