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
// To the machines a node is a number, so nodes of the raw tree are numbers here; a NodeId is a node
// of the shown tree.
//
// --group-by phase and plugin depend on who created a coroutine, too: such a group is a node of the
// raw tree above the coroutine's calls (enter_inherited()), which is no node of the shown tree but
// tells the next call its group. So is that of --group-by request and label (enter_group(),
// running_groups.h), which is a node of the shown tree, too, at its root: calls in the group are
// shown below it, wherever they were called.
//
// If no option hides or renames calls, the raw tree is the shown tree: no second one is made, and
// the Place of a node follows from its function.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/called_functions.h"
#include "analyzer/collect/groups.h"
#include "analyzer/collect/profile.h"
#include "analyzer/filter/call_path.h"
#include "analyzer/filter/filter_plan.h"

namespace luatrace::analyze {

struct Place {
  NodeId out;           // Node of the shown tree.
  NodeId fold;          // Node of the shown tree for hidden calls below it.
  FunctionId function;  // The function it is shown as, if `shown`.
  FunctionId group;  // The request, phase or file group that the call path is in, or kNoFunction.
  FunctionId inherited;  // The group that the next call inherits, or kNoFunction.
  FunctionId coroutine;  // The group of coroutines that the call path is in, or kNoFunction.
  uint32_t depth = 0;    // Shown calls so far.
  bool shown = false;    // A call of this node is a call of `out`.
  bool takes = true;     // Its time is added to `out`; otherwise it is filtered out.
  uint32_t path = 0;     // See CallPath.
  bool own = false;      // `out` is a call (or group) of the same coroutine.
  bool within = false;   // A call is shown here or further out, up to the function of -F.
  bool unknown = false;  // Unknown callers, or a coroutine they resumed, outside its calls.
};

class Placement final : public CalledFunctions {
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
  uint32_t enter(uint32_t raw, FunctionId function, bool dropped = false) {
    if (is_plain_) return enter_plain(raw, function);
    return placed(raw_.enter(NodeId(raw), dropped ? FunctionId(function | kDropped) : function));
  }
  // The same for a call that is not dropped and whose call path hash in the raw tree is known.
  uint32_t enter(uint32_t raw, FunctionId function, uint64_t hash) {
    return placed(raw_.enter(NodeId(raw), function, hash));
  }
  CallTree& raw() { return raw_; }
  Place operator[](uint32_t raw) const {
    return is_plain_ ? plain_place(NodeId(raw)) : places_[raw];
  }
  FunctionId function_of(uint32_t raw) const override {
    return FunctionId(raw_[NodeId(raw)].function & ~kDropped);
  }
  bool is_dropped(uint32_t raw) const { return raw_[NodeId(raw)].function & kDropped; }
  // Returns the function that the call at `raw` is shown as; kNoFunction: it is not shown.
  FunctionId shown_as(uint32_t raw) const {
    if (is_plain_) return FunctionId(raw_[NodeId(raw)].function);
    const Place& p = places_[raw];
    return p.shown ? p.function : kNoFunction;
  }
  // Whether every call is shown, as a call of its own function.
  bool is_plain() const { return is_plain_; }
  // See CallPath::described().
  FunctionName described(FunctionId function) const override { return path_.described(function); }
  // Groups::make().
  FunctionId group(const std::string& name, bool coroutine = false) {
    return groups_.make(name, coroutine);
  }
  bool is_builtin(FunctionId function) const override;

  // Returns the group that a coroutine inherits if the call at `raw` creates it; by_host: no call
  // does, but the host program.
  FunctionId inherited_from(uint32_t raw, bool by_host);
  // Returns the child of `raw` whose calls inherit the group of the resumer's call, or else of the
  // call that created the coroutine; `raw` if there is none.
  uint32_t enter_inherited(uint32_t raw, const Coroutine& co, const Coroutine* by);
  // Returns the child of `raw` whose calls belong to this group (kNoFunction: to none) instead of
  // any other; `raw` if its calls do.
  uint32_t enter_group(uint32_t raw, FunctionId group);

 private:
  static constexpr uint32_t kDropped = 1u << 31;  // Flag in the function of a raw tree node.
  // What the options say about a function, independent of its callers.
  struct Rules {
    bool known = false, hidden = false;
    bool main_chunk = false, creates_timers = false;  // Known for phases only.
    FunctionId group;                                 // Or kNoFunction.
  };
  uint32_t placed(uint32_t raw) {
    if (raw == places_.size() && !is_plain_) [[unlikely]]
      places_.push_back(place(raw));
    return raw;
  }
  uint32_t enter_plain(uint32_t node, FunctionId function) {
    if (function >= kFirstFunction) [[likely]]
      return raw_.enter(NodeId(node), function);
    return enter_plain_base(NodeId(node), function);
  }
  NodeId enter_plain_base(NodeId node, FunctionId function);
  NodeId plain_fold(NodeId node) const;
  // Only the fields that callers other than enter_plain() need.
  Place plain_place(NodeId node) const {
    const FunctionId function(raw_[node].function);
    Place p;
    p.out = node;
    p.own = node && function != kCoroutineFunction;
    p.shown = function >= kFirstFunction && !groups_.has(function);
    if (p.shown) p.function = function;
    return p;
  }
  Place place(uint32_t raw);
  bool selects_functions() const;
  void place_function(Place& p, uint32_t raw);
  FunctionId group_at(uint32_t raw) const;
  NodeId enter_at_root(const Place& p, FunctionId group);
  void place_group(Place& p, FunctionId function);
  const Rules& rules(FunctionId function);
  bool has_other_kind(const FunctionName& f) const;

  const FilterOptions& options_;
  const FunctionTable* const known_;
  FunctionTable& table_;
  CallTree& out_;
  CallPath path_;
  FunctionPatterns hide_, functions_;
  Groups groups_;
  const bool is_plain_;  // The raw tree is out_.
  CallTree own_;         // The raw tree otherwise.
  CallTree& raw_;
  std::vector<Place> places_;  // By node, unless is_plain_.
  // is_plain_: Place::fold of the nodes of coroutines that unknown callers resumed.
  std::unordered_map<uint32_t, NodeId> folds_;
  std::vector<Rules> rules_;  // By function.
};

}  // namespace luatrace::analyze
