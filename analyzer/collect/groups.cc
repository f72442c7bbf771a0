// SPDX-License-Identifier: MIT
#include "analyzer/collect/groups.h"

#include "analyzer/filter/phase.h"

namespace luatrace::analyze {

Groups::Groups(const FilterOptions& options, FunctionTable& functions)
    : options_(options), table_(functions) {
  for (const std::string& pattern : options.group_patterns()) patterns_.emplace_back(pattern);
}

FunctionId Groups::make(const std::string& name, bool coroutine) {
  const FunctionId function = table_.add_group(name, coroutine);
  if (function >= types_.size()) types_.resize(function + 1);
  types_[function] = coroutine ? Type::kOfCoroutine : Type::kOfCalls;
  return function;
}

FunctionId Groups::none() {
  if (!none_)
    none_ = make(by_phase()     ? "[no phase]"
                 : by_request() ? "[no request]"
                 : by_label()   ? kNoLabel
                 : by_plugin()  ? "[no plugin]"
                                : "[other]");
  return none_;
}

FunctionId Groups::timers() {
  if (!timers_) timers_ = make(kTimerPhase);
  return timers_;
}

FunctionId Groups::of(const FunctionName& f) {
  if (by_phase()) {
    const std::string phase = nginx_phase(f);
    return phase.empty() ? kNoFunction : make(phase);
  }
  std::string place = file_name(f);
  if (options_.group == GroupBy::kFile) {
    if (f.kind == FunctionKind::kBuiltin) place = "[builtin]";
    if (f.kind == FunctionKind::kLua && place.size() == f.chunk.size()) place = "[string]";
    return make(place.empty() ? "[C]" : place);
  }
  for (const GroupPattern& pattern : patterns_)
    if (const auto found = pattern.find(place)) return make(found->empty() ? "[empty]" : *found);
  return kNoFunction;
}

// All that a plugin calls belongs to the plugin. Otherwise a function without a group belongs to
// that of its caller.
FunctionId Groups::of_call(FunctionId outer, FunctionId inherited, FunctionId own) const {
  const bool in_plugin = by_plugin() && outer && outer != none_;
  if (in_plugin) return outer;
  const FunctionId group = inherited ? inherited : own;
  return group ? group : outer;
}

FunctionId Groups::of_outermost(FunctionId inherited, FunctionId own, bool is_main_chunk) {
  const FunctionId phase = outermost_phase(own, inherited, is_main_chunk, timers_);
  return phase ? phase : none();
}

}  // namespace luatrace::analyze
