// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/placement.h"

#include <algorithm>

namespace luatrace {

Placement::Placement(const FilterOptions& options, TraceFacts& facts, const SymbolFinder& symbols,
                     Profile& out)
    : options_(options),
      facts_(facts),
      symbols_(symbols),
      out_(out),
      only_(options.only),
      without_(options.without),
      callers_(options.callers),
      hide_(options.hide),
      functions_(options.functions) {
  if (options.group == GroupBy::kPattern) group_pattern_.emplace(options.group_pattern);
  Place root;
  root.in = only_.empty();
  places_.push_back(root);
}

uint32_t Placement::enter(uint32_t raw, uint32_t function) {
  uint32_t node = raw_.enter(raw, function);
  if (node == places_.size()) places_.push_back(place(node));
  return node;
}

ReportFunction Placement::described(uint32_t function) const {
  return describe(facts_.functions[function], symbols_);
}

Place Placement::place(uint32_t raw) const {
  const uint32_t function = raw_[raw].function;
  const Place& above = places_[raw_[raw].parent];
  Place p = above;
  p.function = 0;
  if (function != kCoroutineFunction) p.base = function;
  p.shown = p.target = false;
  p.own = above.own || function == kUnknownFunction;
  const bool folded = above.reached || (options_.depth && above.depth >= options_.depth);
  if (function == kCoroutineFunction) {
    p.own = false;
    if (!options_.coroutines.empty()) p.group = 0;  // That of the resumer may be left out.
    if (above.takes && !folded) p.out = p.fold = out_.enter(above.fold, function);
  } else if (function == kUnknownFunction) {
    p.takes = true;  // Whatever is asked for: it may have been that.
    p.out = out_.enter(above.fold, function);
  } else if (facts_.functions[function].type == kGroupType) {
    p.own = true;
    p.out = p.fold = out_.enter(above.fold, function);
  } else {
    place_function(p, above, function);
  }
  return p;
}

void Placement::place_function(Place& p, const Place& above, uint32_t function) const {
  const Rules& r = rules(function);
  const bool enters = !p.in && r.only;
  p.in |= r.only;
  p.out_of |= r.without;
  p.target = r.callers && p.in && !p.out_of && !above.reached;
  p.reached |= p.target;
  if (enters) p.depth = 0;
  const bool folded = above.reached || (options_.depth && p.depth >= options_.depth);
  bool hidden = r.hidden || folded || !p.in || p.out_of;
  if (options_.group == GroupBy::kFile || options_.group == GroupBy::kPattern) {
    // A call inside its own group is no call of the group; what is in none counts to its caller.
    if (!hidden && (above.group == 0 || (r.group != 0 && r.group != above.group)))
      p.group = r.group ? r.group : facts_.functions.add_group("[other]");
    else
      hidden = true;
    p.function = p.group;
  } else {
    p.function = function;
  }
  p.shown = !hidden;
  if (p.shown) {
    p.out = p.fold = out_.enter(above.out, p.function);
    p.depth++;
    p.own = true;
    p.blank = false;
  } else {
    p.out = p.fold;
    p.blank = p.depth == 0;
  }
  p.takes = p.in && !p.out_of && !p.blank && (callers_.empty() || p.reached);
}

bool Placement::wrong_kind(const ReportFunction& f) const {
  const auto& kinds = options_.kinds;
  return !kinds.empty() && std::find(kinds.begin(), kinds.end(), f.kind) == kinds.end();
}

const Placement::Rules& Placement::rules(uint32_t function) const {
  if (function >= rules_.size()) rules_.resize(std::max<size_t>(2 * rules_.size(), function + 64));
  if (rules_[function].known) return rules_[function];
  ReportFunction f = described(function);
  Rules r;
  r.known = true;
  r.only = only_.matches(f);
  r.without = without_.matches(f);
  r.callers = callers_.matches(f);
  r.hidden = hide_.matches(f) || wrong_kind(f) || (!functions_.empty() && !functions_.matches(f));
  r.group = group_of(f);
  return rules_[function] = r;
}

uint32_t Placement::group_of(const ReportFunction& f) const {
  std::string place = file_name(f);
  if (options_.group == GroupBy::kFile) {
    if (f.kind == "ff") place = "[builtin]";
    if (f.kind == "lua" && place.size() == f.chunk.size()) place = "[string]";
    return facts_.functions.add_group(place.empty() ? "[C]" : place);
  }
  if (options_.group != GroupBy::kPattern) return 0;
  auto found = group_pattern_->find(place);
  return found ? facts_.functions.add_group(found->empty() ? "[empty]" : *found) : 0;
}

}  // namespace luatrace
