// SPDX-License-Identifier: MIT
#include "analyzer/collect/placement.h"

#include <algorithm>
#include <utility>

#include "analyzer/filter/phase.h"

namespace luatrace::analyze {
namespace {

bool shows_all(const FilterOptions& o) {
  return !o.looks_at_functions() && o.depth == 0;
}

}  // namespace

Placement::Placement(const FilterPlan& plan, FunctionTable& functions, const SymbolFinder& symbols,
                     CallTree& out)
    : options_(*plan.options),
      known_(plan.known),
      table_(functions),
      out_(out),
      path_(plan, functions, symbols),
      hide_(options_.hide),
      functions_(options_.functions),
      groups_(options_, functions),
      is_plain_(!plan.verdicts && shows_all(options_)),
      raw_(is_plain_ ? out : own_) {
  Place root;
  root.path = path_.root();
  places_.push_back(root);
}

void Placement::close() {
  own_ = {};
  std::vector<Place>().swap(places_);
  folds_.clear();
}

// The recording overhead of a call is partly in its own time and partly in its caller's.
uint64_t Placement::settle(Profile& to) {
  uint64_t unowned = 0;
  for (uint32_t i = 0; i < raw_.size() && !is_plain_; i++) {
    CallNode& n = raw_[NodeId(i)];
    const Place &p = places_[i], &above = places_[n.parent];
    (p.takes ? out_[p.out].self : unowned) += n.self;
    if (p.shown) out_[p.out].calls += n.calls;
    if (n.calls && p.takes) to.charged(p.out, n.calls);
    if (n.calls && above.takes) to.charged(above.out, n.calls);
    n.self = n.calls = 0;
  }
  return unowned;
}

bool Placement::is_builtin(FunctionId function) const {
  const uint16_t type = table_.type(function);
  if (type || !known_) return type == LT_FUNC_FF;
  const Function so_far = table_.copy(function);
  return best_known(so_far, known_).type == LT_FUNC_FF;
}

// -- Groups that coroutines inherit --

FunctionId Placement::group_at(uint32_t raw) const {
  const Place& p = places_[raw];
  return groups_.of_call(p.group, p.inherited, kNoFunction);
}

FunctionId Placement::inherited_from(uint32_t raw, bool by_host) {
  if (!options_.inherits_groups()) return kNoFunction;
  const FunctionId known = group_at(raw), creator = function_of(raw);
  if (groups_.by_plugin()) return groups_.is_none(known) ? kNoFunction : known;
  const bool is_call = creator >= kFirstFunction && !groups_.has(creator);
  const bool creates_timers = is_call && rules(creator).creates_timers;
  const FunctionId phase = inherited_phase(known, creates_timers, by_host, kTimerFunction);
  return phase == kTimerFunction ? groups_.timers() : phase;
}

uint32_t Placement::enter_inherited(uint32_t raw, const Coroutine& co, const Coroutine* by) {
  FunctionId from = by ? group_at(by->frames[by->top].node) : kNoFunction;
  if (!from || (groups_.by_plugin() && groups_.is_none(from))) from = co.origin;
  return from ? enter(raw, from) : raw;
}

// A group below a group would let the tree grow with each change.
uint32_t Placement::enter_group(uint32_t raw, FunctionId group) {
  const uint32_t parent = raw_[NodeId(raw)].parent;
  const FunctionId function = function_of(raw);
  if (function == kUnknownFunction) return enter(enter_group(parent, group), function);
  if (groups_.has(function) && !groups_.is_of_coroutine(function))
    return enter_group(parent, group);
  const FunctionId here = places_[raw].group;
  if (here == group || (!group && groups_.is_none(here))) return raw;
  return enter(raw, group ? group : groups_.none());
}

// Returns the node of the shown tree for a group, and for a coroutine in it if that is a group,
// too.
NodeId Placement::enter_at_root(const Place& p, FunctionId group) {
  const NodeId node = out_.enter(kRootNode, group);
  return p.coroutine ? out_.enter(node, p.coroutine) : node;
}

// Does what place() does where each node is its own `out`: a node whose `out` would be elsewhere,
// such as unknown callers, is created there.
NodeId Placement::enter_plain_base(NodeId node, FunctionId function) {
  const NodeId fold = plain_fold(node);
  if (function == kUnknownFunction || fold == node) return raw_.enter(fold, function);
  const NodeId elsewhere = raw_.enter(fold, function);
  const NodeId child = raw_.enter(node, function);
  if (raw_[child].function == function) folds_[child] = elsewhere;
  return child;
}

NodeId Placement::plain_fold(NodeId node) const {
  const FunctionId function(raw_[node].function);
  if (function == kUnknownFunction) return raw_[node].parent;
  if (function != kCoroutineFunction || folds_.empty()) return node;
  auto it = folds_.find(node);
  return it == folds_.end() ? node : it->second;
}

Place Placement::place(uint32_t raw) {
  const FunctionId function = function_of(raw);
  const Place& above = places_[raw_[NodeId(raw)].parent];
  Place p = above;
  p.function = p.inherited = kNoFunction;
  p.shown = p.unknown = false;
  p.own = above.own || function == kUnknownFunction;
  const bool reached = above.path & CallPath::kReached;
  const bool folded = reached || (options_.depth && above.depth >= options_.depth);
  if (function == kCoroutineFunction) {
    p.own = false;
    p.inherited = above.inherited;
    if (options_.groups_files() && !options_.coroutines.empty())
      p.group = kNoFunction;  // The resumer may be filtered out.
    if (above.takes && !folded) {
      p.out = p.fold = out_.enter(above.fold, function);
      // Hidden calls in it are added to a known caller, or to none.
      if (above.unknown) p.out = out_.enter(above.out, function), p.unknown = true;
    }
  } else if (function == kUnknownFunction) {
    p.takes = true;  // Whatever the filters: it may have been a selected call.
    if (groups_.at_root() && !p.group) p.group = groups_.none(), p.fold = enter_at_root(p, p.group);
    p.out = out_.enter(p.fold, function);
    p.unknown = true;
  } else if (groups_.has(function)) {
    p.inherited = above.inherited;
    place_group(p, function);
  } else {
    place_function(p, raw);
  }
  return p;
}

void Placement::place_group(Place& p, FunctionId function) {
  if (options_.inherits_groups() && !groups_.is_of_coroutine(function))
    return static_cast<void>(p.inherited = function);
  if (groups_.by_running() && !groups_.is_of_coroutine(function)) {
    p.group = function;
    p.depth = 0;
    p.out = p.fold = enter_at_root(p, function);
    return;
  }
  p.own = true;
  p.takes = !selects_functions();
  if (groups_.is_of_coroutine(function)) p.coroutine = function;
  if (groups_.by_phase())
    p.fold = out_.enter(kRootNode, p.inherited ? p.inherited : groups_.none());
  if (groups_.by_running() && !p.group)
    p.group = groups_.none(), p.fold = out_.enter(kRootNode, p.group);
  p.out = p.fold = out_.enter(p.fold, function);
  // A coroutine has no file, so its own time gets a group, too: not [other], which has calls.
  if (options_.groups_files()) p.out = out_.enter(p.fold, group("[coroutines]"));
}

// Whether filters select by function. Then time of a coroutine outside of any call, where it is
// not part of its resumer's, is filtered out, because it belongs to no function.
bool Placement::selects_functions() const {
  return !options_.only.empty() || !options_.callers.empty() || !functions_.empty() ||
         !options_.kinds.empty();
}

void Placement::place_function(Place& p, uint32_t raw) {
  const FunctionId function = function_of(raw);
  const bool dropped = is_dropped(raw);
  const Place& above = places_[raw_[NodeId(raw)].parent];
  const Rules& r = rules(function);
  p.path = path_.enter(above.path, function);
  NodeId under = above.out;
  if (options_.groups_files() && groups_.has(function_of(raw_[NodeId(raw)].parent)))
    under = above.fold;
  if (groups_.by_phase() && !above.group) {
    p.group = groups_.of_outermost(above.inherited, r.group, r.main_chunk);
    under = p.fold = enter_at_root(above, p.group);
  } else if (groups_.by_running() && !above.group) {
    p.group = groups_.none();
    under = p.fold = enter_at_root(above, p.group);
  }
  const bool inside = p.path & CallPath::kInside, excluded = p.path & CallPath::kExcluded;
  if (inside && !(above.path & CallPath::kInside)) p.depth = 0, p.within = false;
  const bool reached = above.path & CallPath::kReached;
  const bool folded = reached || (options_.depth && p.depth >= options_.depth);
  bool hidden = r.hidden || folded || !inside || excluded;
  if (options_.groups_files()) {
    // A call within its own group is not a call of the group.
    const FunctionId group = groups_.of_call(above.group, above.inherited, r.group);
    hidden |= above.group && group == above.group;
    if (!hidden) p.function = group ? group : groups_.none();
    if (!hidden && !dropped)
      p.group = p.function;
    else if (groups_.by_plugin() && group != above.group)
      p.inherited = group;  // What it calls belongs to its plugin nevertheless.
  } else {
    p.function = function;
  }
  p.shown = !hidden && !dropped;
  p.depth += !hidden;
  p.within |= p.shown;
  if (p.shown) {
    p.out = p.fold = out_.enter(under, p.function);
    p.own = true;
  } else {
    p.out = p.fold;
  }
  p.takes = inside && !excluded && p.within &&
            (options_.callers.empty() || (p.path & CallPath::kReached));
  p.takes &= above.takes || !dropped;
}

bool Placement::has_other_kind(const FunctionName& f) const {
  const auto& kinds = options_.kinds;
  return !kinds.empty() && std::find(kinds.begin(), kinds.end(), f.kind) == kinds.end();
}

const Placement::Rules& Placement::rules(FunctionId function) {
  Rules& r = grown(rules_, function);
  if (std::exchange(r.known, true)) return r;
  if (hide_.empty() && functions_.empty() && options_.kinds.empty() &&
      options_.group < GroupBy::kPhase)
    return r;
  const FunctionName f = described(function);
  r.hidden =
      hide_.matches(f) || has_other_kind(f) || (!functions_.empty() && !functions_.matches(f));
  r.group = groups_.of(f);
  if (groups_.by_phase()) r.main_chunk = is_main_chunk(f), r.creates_timers = creates_timers(f);
  return r;
}

}  // namespace luatrace::analyze
