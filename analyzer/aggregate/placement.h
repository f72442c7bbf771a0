// SPDX-License-Identifier: MIT
// Where calls are shown: the function filters and groupings, decided once for each chain of calls.
//
// The stack machines walk a call tree of everything (the raw tree). Each of its nodes has a Place:
// the node of the shown tree that gets its time, and whether it is a call of its own there. All of
// -F -N -C -H -D, --function, --kind and --group-by depend on the chain of calls alone, so they
// cost something only when a chain occurs for the first time. What depends on the single call (-t,
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

#include "analyzer/aggregate/filter.h"
#include "analyzer/aggregate/pattern.h"
#include "analyzer/aggregate/profile.h"
#include "analyzer/aggregate/verdicts.h"
#include "analyzer/stacks/functions.h"

namespace luatrace {

struct Place {
  uint32_t out = 0;       // Node of the shown tree.
  uint32_t fold = 0;      // Node of the shown tree for hidden calls below it.
  uint32_t function = 0;  // What it is there, if `shown`.
  uint32_t group = 0;     // Group of files that the chain is in, 0: none.
  uint32_t depth = 0;     // Shown calls so far.
  bool shown = false;     // A call there is a call of `out`.
  bool takes = true;      // Time there is time of `out`; else it is filtered out.
  bool in = false;        // Behind a function of -F.
  bool out_of = false;    // Behind a function of -N.
  bool reached = false;   // Behind a function of -C.
  bool target = false;    // This call is the one that -C looks for.
  bool own = false;       // `out` is a call (or group) of this very coroutine.
  bool within = false;    // A call is shown here, or further out behind a function of -F.
  bool unknown = false;   // Callers that nobody knows, or what they resumed has no call of its own.
};

// The options, made ready for one file.
struct FilterPlan {
  const FilterOptions* options = nullptr;
  uint64_t from = 0, to = UINT64_MAX;  // Ticks.
  FunctionPatterns slow;               // Calls to be watched.
  // What all of the file says about its functions, if that is known: filters judge a function by
  // it, also one that was called before its description came. Without it they judge by what was
  // said when it was first called: in a file of several streams that is a question of who was
  // first.
  const FunctionTable* known = nullptr;
  const CallVerdicts* verdicts = nullptr;  // Which calls are dropped; null: none.
};

class Placement {
 public:
  // Others may add to `functions`, too. Calls are placed in the tree of `out`.
  Placement(const FilterPlan& plan, FunctionTable& functions, const SymbolFinder& symbols,
            Profile& out);
  // Nodes of the raw tree come from there; the shown one cannot have many more.
  void limit(NodeBudget* budget) { raw_.limit(budget); }

  // Gives back what it knows of nodes: nothing is asked any more.
  void close();

  // The child of a node of the raw tree; for a call that is dropped another one.
  uint32_t enter(uint32_t raw, uint32_t function, bool dropped = false);
  Place operator[](uint32_t raw) const { return is_plain_ ? plain_place(raw) : places_[raw]; }
  uint32_t function_of(uint32_t raw) const { return raw_[raw].function & ~kDropped; }
  bool is_dropped(uint32_t raw) const { return raw_[raw].function & kDropped; }
  // Every call is shown, as a call of its own function.
  bool is_plain() const { return is_plain_; }
  bool looks_for_callers() const { return !callers_.empty(); }
  // What patterns are matched with.
  ReportFunction described(uint32_t function) const;
  // The function that stands for a group, of coroutines or of something else; whether it is one.
  uint32_t group(const std::string& name, bool coroutine = false);
  bool is_builtin(uint32_t function) const;
  bool is_group(uint32_t function) const { return function < groups_.size() && groups_[function]; }

 private:
  static constexpr uint32_t kDropped = 1u << 31;  // In the function of a node of the raw tree.
  // What the options say about a function, wherever it is called.
  struct Rules {
    bool known = false, only = false, without = false, callers = false, hidden = false;
    uint32_t group = 0;  // 0: none.
  };
  uint32_t enter_plain(uint32_t node, uint32_t function);
  uint32_t plain_fold(uint32_t node) const;
  Place plain_place(uint32_t node) const;
  Place place(uint32_t raw);
  bool asks_for_functions() const;
  void place_function(Place& p, uint32_t raw);
  bool groups_files() const { return options_.group >= GroupBy::kFile; }
  const Rules& rules(uint32_t function);
  bool wrong_kind(const ReportFunction& f) const;
  uint32_t group_of(const ReportFunction& f);

  const FilterOptions& options_;
  const FunctionTable* const known_;
  FunctionTable& table_;
  const SymbolFinder& symbols_;
  Profile& out_;
  FunctionPatterns only_, without_, callers_, hide_, functions_;
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

}  // namespace luatrace
