// SPDX-License-Identifier: MIT
// Where calls are shown: function filters and groupings, decided once per call path.
//
// The stack machines walk a call tree of everything (the raw tree). Each of its nodes has a Place:
// the node of the shown tree that gets its time, and whether it is a call of its own there. -F -N
// -C -H -D, --function, --kind and --group-by depend on the call path alone, so they cost time only
// when a path occurs for the first time. Calls and times are summed in the raw tree, so a call
// costs no more than without filters, and moved to the shown tree at the end (settle()). What
// depends on the single call (-t, and whether it led to a function of -C) is decided by an earlier
// pass (verdicts.h): a dropped call has a node of its own, whose time belongs to its caller.
//
// If no option hides or renames calls, the raw tree is the shown tree: no second one is made, and
// the Place of a node follows from its function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/profile.h"
#include "analyzer/filter/call_path.h"
#include "analyzer/filter/filter_plan.h"

namespace luatrace::analyze {

struct Place {
  uint32_t out = 0;       // Node of the shown tree.
  uint32_t fold = 0;      // Node of the shown tree for hidden calls below it.
  uint32_t function = 0;  // The function it is shown as, if `shown`.
  uint32_t group = 0;     // The file group that the call path is in; 0: none.
  uint32_t depth = 0;     // Shown calls so far.
  bool shown = false;     // A call of this node is a call of `out`.
  bool takes = true;      // Its time is added to `out`; otherwise it is filtered out.
  uint32_t path = 0;      // See CallPath.
  bool own = false;       // `out` is a call (or group) of the same coroutine.
  bool within = false;    // A call is shown here or further out, up to the function of -F.
  bool unknown = false;   // Unknown callers, or a coroutine they resumed, outside its calls.
};

class Placement {
 public:
  // Other threads may add to `functions` meanwhile. `out`: the shown tree.
  Placement(const FilterPlan& plan, FunctionTable& functions, const SymbolFinder& symbols,
            CallTree& out);
  // Takes the nodes of the raw tree from `budget`; the shown tree cannot have many more.
  void limit(NodeBudget* budget) { raw_.limit(budget); }

  // Moves calls and times from the raw tree to the shown one, whose profile is `to`. Returns the
  // ticks that have no owner there. Does nothing if both trees are the same.
  uint64_t settle(Profile& to);
  // Frees what is stored per node. Nothing may be queried afterwards.
  void close();

  // Returns the child of a node of the raw tree; dropped calls have a child of their own.
  uint32_t enter(uint32_t raw, uint32_t function, bool dropped = false) {
    if (is_plain_) return enter_plain(raw, function);
    return placed(raw_.enter(raw, dropped ? function | kDropped : function));
  }
  // The same for a call that is not dropped and whose call path hash in the raw tree is known.
  uint32_t enter(uint32_t raw, uint32_t function, uint64_t hash) {
    return placed(raw_.enter(raw, function, hash));
  }
  CallTree& raw() { return raw_; }
  Place operator[](uint32_t raw) const { return is_plain_ ? plain_place(raw) : places_[raw]; }
  uint32_t function_of(uint32_t raw) const { return raw_[raw].function & ~kDropped; }
  bool is_dropped(uint32_t raw) const { return raw_[raw].function & kDropped; }
  // Returns the function that the call at `raw` is shown as; 0: it is not shown.
  uint32_t shown_as(uint32_t raw) const {
    if (is_plain_) return raw_[raw].function;
    const Place& p = places_[raw];
    return p.shown ? p.function : 0;
  }
  // Whether every call is shown, as a call of its own function.
  bool is_plain() const { return is_plain_; }
  // See CallPath::described().
  FunctionName described(uint32_t function) const { return path_.described(function); }
  // Returns the pseudo-function of a group, of coroutines or something else.
  uint32_t group(const std::string& name, bool coroutine = false);
  bool is_builtin(uint32_t function) const;
  bool is_group(uint32_t function) const { return function < groups_.size() && groups_[function]; }

 private:
  static constexpr uint32_t kDropped = 1u << 31;  // Flag in the function of a raw tree node.
  // What the options say about a function, independent of its callers.
  struct Rules {
    bool known = false, hidden = false;
    uint32_t group = 0;  // 0: none.
  };
  uint32_t placed(uint32_t raw) {
    if (raw == places_.size() && !is_plain_) [[unlikely]]
      places_.push_back(place(raw));
    return raw;
  }
  uint32_t enter_plain(uint32_t node, uint32_t function) {
    if (function >= kFirstFunction) [[likely]]
      return raw_.enter(node, function);
    return enter_plain_base(node, function);
  }
  uint32_t enter_plain_base(uint32_t node, uint32_t function);
  uint32_t plain_fold(uint32_t node) const;
  Place plain_place(uint32_t node) const;
  Place place(uint32_t raw);
  bool asks_for_functions() const;
  void place_function(Place& p, uint32_t raw);
  bool groups_files() const { return options_.group >= GroupBy::kFile; }
  const Rules& rules(uint32_t function);
  bool wrong_kind(const FunctionName& f) const;
  uint32_t group_of(const FunctionName& f);

  const FilterOptions& options_;
  const FunctionTable* const known_;
  FunctionTable& table_;
  CallTree& out_;
  CallPath path_;
  FunctionPatterns hide_, functions_;
  std::optional<GroupPattern> group_pattern_;
  const bool is_plain_;  // The raw tree is out_.
  CallTree own_;         // The raw tree otherwise.
  CallTree& raw_;
  std::vector<Place> places_;  // By node, unless is_plain_.
  // is_plain_: Place::fold of the nodes of coroutines that unknown callers resumed.
  std::unordered_map<uint32_t, uint32_t> folds_;
  std::vector<Rules> rules_;  // By function.
  std::vector<bool> groups_;  // By function: made by group().
};

}  // namespace luatrace::analyze
