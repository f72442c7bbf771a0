// SPDX-License-Identifier: MIT
// Where calls are shown: the function filters and groupings, decided once for each chain of calls.
//
// The stack machines walk a call tree of everything (the raw tree). Each of its nodes has a Place:
// the node of the shown tree that gets its time, and whether it is a call of its own there. All of
// -F -N -C -H -D, --function, --kind and --group-by depend on the chain of calls alone, so they
// cost something only when a chain occurs for the first time. Calls and times are added up in the
// raw tree, so a call costs no more than without filters, and brought to the shown tree when all
// has been read (settle()). What depends on the single call (-t,
// and whether it led to a function of -C) is decided before (verdicts.h): a call that is to be left
// out has a node of its own, `dropped`, whose time is its caller's.
//
// If nothing that was asked for hides or renames a call, the raw tree is the shown tree itself: no
// second one is made, and a node's Place follows from its function.
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
  uint32_t function = 0;  // What it is there, if `shown`.
  uint32_t group = 0;     // Group of files that the chain is in, 0: none.
  uint32_t depth = 0;     // Shown calls so far.
  bool shown = false;     // A call there is a call of `out`.
  bool takes = true;      // Time there is time of `out`; else it is filtered out.
  uint32_t path = 0;      // See CallPath.
  bool own = false;       // `out` is a call (or group) of this very coroutine.
  bool within = false;    // A call is shown here, or further out behind a function of -F.
  bool unknown = false;   // Callers that nobody knows, or what they resumed has no call of its own.
};

class Placement {
 public:
  // Others may add to `functions`, too. `out`: the shown tree.
  Placement(const FilterPlan& plan, FunctionTable& functions, const SymbolFinder& symbols,
            CallTree& out);
  // Nodes of the raw tree come from there; the shown one cannot have many more.
  void limit(NodeBudget* budget) { raw_.limit(budget); }

  // Adds calls and times of the raw tree to the shown one, whose profile is `to`. Returns the time
  // that is nobody's there. Then they are gone from the raw tree, unless it is the shown one.
  uint64_t settle(Profile& to);
  // Gives back what it knows of nodes: nothing is asked any more.
  void close();

  // The child of a node of the raw tree; for a call that is dropped another one.
  uint32_t enter(uint32_t raw, uint32_t function, bool dropped = false) {
    if (is_plain_) return enter_plain(raw, function);
    return placed(raw_.enter(raw, dropped ? function | kDropped : function));
  }
  // Of a call that is not dropped, the hash of whose chain in the raw tree is known.
  uint32_t enter(uint32_t raw, uint32_t function, uint64_t hash) {
    return placed(raw_.enter(raw, function, hash));
  }
  CallTree& raw() { return raw_; }
  Place operator[](uint32_t raw) const { return is_plain_ ? plain_place(raw) : places_[raw]; }
  uint32_t function_of(uint32_t raw) const { return raw_[raw].function & ~kDropped; }
  bool is_dropped(uint32_t raw) const { return raw_[raw].function & kDropped; }
  // As what function the call at `raw` is shown; 0: it is not.
  uint32_t shown_as(uint32_t raw) const {
    if (is_plain_) return raw_[raw].function;
    const Place& p = places_[raw];
    return p.shown ? p.function : 0;
  }
  // Every call is shown, as a call of its own function.
  bool is_plain() const { return is_plain_; }
  // What patterns are matched with.
  FunctionName described(uint32_t function) const { return path_.described(function); }
  // The function that stands for a group, of coroutines or of something else; whether it is one.
  uint32_t group(const std::string& name, bool coroutine = false);
  bool is_builtin(uint32_t function) const;
  bool is_group(uint32_t function) const { return function < groups_.size() && groups_[function]; }

 private:
  static constexpr uint32_t kDropped = 1u << 31;  // In the function of a node of the raw tree.
  // What the options say about a function, wherever it is called.
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
  const bool is_plain_;  // The raw tree is that of `out`.
  CallTree own_;         // The raw tree if it is not.
  CallTree& raw_;
  std::vector<Place> places_;  // By node, unless is_plain_.
  // is_plain_: Place::fold of the nodes of coroutines that callers resumed whom nobody knows.
  std::unordered_map<uint32_t, uint32_t> folds_;
  std::vector<Rules> rules_;  // By function.
  std::vector<bool> groups_;  // By function: made by group().
};

}  // namespace luatrace::analyze
