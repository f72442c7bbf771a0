// SPDX-License-Identifier: MIT
// --group-by: the groups that functions have by their names, and how a call's group follows from
// them. A group is a pseudo-function of the function table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/filter/filter.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/machine/functions.h"

namespace luatrace::analyze {

class Groups {
 public:
  // Other threads may add to `functions` meanwhile.
  Groups(const FilterOptions& options, FunctionTable& functions);

  bool by_phase() const { return options_.group == GroupBy::kPhase; }
  bool by_request() const { return options_.group == GroupBy::kRequest; }
  bool by_label() const { return options_.group == GroupBy::kLabel; }
  // Whether groups may change while calls are open (running_groups.h).
  bool by_running() const { return by_request() || by_label(); }
  // Whether each outermost call is below its group, or below that of those without one.
  bool at_root() const { return by_phase() || by_running(); }
  bool by_plugin() const { return options_.group == GroupBy::kPlugin; }

  // Returns the pseudo-function of a group, of coroutines or something else.
  FunctionId make(const std::string& name, bool coroutine = false);
  bool has(FunctionId function) const { return type(function) != Type::kNone; }
  bool is_of_coroutine(FunctionId function) const { return type(function) == Type::kOfCoroutine; }
  // The group of calls that are in no other, and that of timers.
  FunctionId none();
  FunctionId timers();
  bool is_none(FunctionId group) const { return group && group == none_; }

  // Returns the phase or file group of a function, kNoFunction if it has none.
  FunctionId of(const FunctionName& function);
  // Returns the group of a call: of a function in the group `own`, by a call in `outer`.
  // `inherited`: what the call inherits (Placement::inherited_from()), or kNoFunction.
  FunctionId of_call(FunctionId outer, FunctionId inherited, FunctionId own) const;
  // outermost_phase(), or none() if there is none.
  FunctionId of_outermost(FunctionId inherited, FunctionId own, bool is_main_chunk);

 private:
  enum class Type : uint8_t { kNone, kOfCalls, kOfCoroutine };
  Type type(FunctionId function) const {
    return function < types_.size() ? types_[function] : Type::kNone;
  }

  const FilterOptions& options_;
  FunctionTable& table_;
  std::vector<GroupPattern> patterns_;
  std::vector<Type> types_;   // By function.
  FunctionId none_, timers_;  // kNoFunction: not made yet.
};

}  // namespace luatrace::analyze
