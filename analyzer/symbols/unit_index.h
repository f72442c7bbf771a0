// SPDX-License-Identifier: MIT
// Index of one compilation unit, built in one walk: which function has an address, and in which
// namespaces and classes functions are declared.
//
// Invariant: the number of visited entries is proportional to the unit's bytes (in damaged files a
// walk could loop), and their depth is up to kMaxEntryDepth. The bytes that libdw reads to find the
// ends of entries that do not state them are limited in the same way.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"

namespace luatrace::analyze {

// Entries that may have code, and entries (kScope) that have no code but may contain functions.
enum class Part { kNone, kFunction, kInlined, kBlock, kScope };
Part part_of(Dwarf_Die* die);

// What a walk may still do. Each visited entry and each address range is a step.
struct WalkSteps {
  uint64_t left = 0;
  uint64_t skips = 0;  // Bytes of entries that libdw may read to find their siblings.
  bool take() { return left > 0 && left-- > 0; }
};
constexpr unsigned kMaxEntryDepth = 500;

// Finds the sibling after `die`; `found`: whether there is one. If `die` does not state its end,
// libdw reads everything below it, at each level again: this is charged to steps.skips. `end`: the
// end of the parent; set to the end of `die` if there is a sibling. Returns false, with no steps
// left, if too much was read.
bool find_sibling(Dwarf_Die& die, Dwarf_Die& sibling, bool& found, Dwarf_Off& end,
                  WalkSteps& steps);

// An entry and the end of it and its children.
struct DebugEntry {
  Dwarf_Die die;
  Dwarf_Off end;
};

// Calls `f` with each child of `entry`, which is `depth` below its unit. False if that is too deep,
// or the steps are used up.
template <class F>
bool each_child(DebugEntry& entry, unsigned depth, WalkSteps& steps, F f) {
  DebugEntry child;
  if (dwarf_child(&entry.die, &child.die) != 0) return true;
  if (depth > kMaxEntryDepth) return false;
  for (bool more = true; more;) {
    Dwarf_Die next;
    child.end = entry.end;
    if (!steps.take() || !find_sibling(child.die, next, more, child.end, steps)) return false;
    f(child);
    child.die = next;
  }
  return true;
}

// Calls `f` with the beginning and end of each address range of an entry, as long as there are
// steps.
template <class F>
void each_range(Dwarf_Die* die, WalkSteps& steps, F f) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0 && steps.take();)
    if (begin < end) f(begin, end);
}

class UnitIndex {
 public:
  explicit UnitIndex(const Dwarf_Die& unit);

  // Returns the function at this address of the debug information, null if there is none. If
  // several claim the address, it is the first, or the outer one.
  const DebugEntry* function_at(Dwarf_Addr address) const;
  // Returns the namespaces and classes around a declaration in this unit: "parts::".
  std::string scopes_of(const Dwarf_Die& declaration) const;
  // The steps left for all walks below functions of the unit together.
  WalkSteps& steps() { return steps_; }

 private:
  using FunctionIndex = Id<struct FunctionsOfUnit>;
  using ScopeId = Id<struct ScopesOfUnit>;
  static constexpr ScopeId kNoScope{0};

  void walk(DebugEntry& entry, ScopeId scope, unsigned depth);
  void visit(DebugEntry& entry, ScopeId scope, unsigned depth);
  void add_scope(DebugEntry& entry, ScopeId scope, unsigned depth);
  void add_function(DebugEntry& entry);
  void add_range(Dwarf_Addr begin, Dwarf_Addr end, FunctionIndex function);

  struct NamedScope {
    ScopeId parent;
    std::string name;
  };
  struct Range {
    Dwarf_Addr end;
    FunctionIndex function;
  };
  WalkSteps steps_;
  std::vector<DebugEntry> functions_;   // With code.
  std::map<Dwarf_Addr, Range> ranges_;  // By their beginnings; none overlaps another.
  std::vector<NamedScope> scopes_;      // The first stands for kNoScope.
  std::unordered_map<const void*, ScopeId> scope_of_;  // By address of the declaration's DIE.
};

}  // namespace luatrace::analyze
