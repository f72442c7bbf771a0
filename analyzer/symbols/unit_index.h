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

class UnitIndex {
 public:
  explicit UnitIndex(const Dwarf_Die& unit);

  struct Function {
    Dwarf_Die die;
    Dwarf_Off end;  // End of the DIE and its children.
  };
  // Returns the function at this address of the debug information, null if there is none. If
  // several claim the address, it is the first, or the outer one.
  const Function* function_at(Dwarf_Addr address) const;
  // Returns the namespaces and classes around a declaration in this unit: "parts::".
  std::string scopes_of(const Dwarf_Die& declaration) const;
  // The steps left for all walks below functions of the unit together.
  WalkSteps& steps() { return steps_; }

 private:
  using FunctionIndex = Id<struct FunctionsOfUnit>;
  using ScopeId = Id<struct ScopesOfUnit>;
  static constexpr ScopeId kNoScope{0};

  void walk(Function entry, ScopeId scope, unsigned depth);
  void visit(Function& entry, ScopeId scope, unsigned depth);
  void add_scope(Function& entry, ScopeId scope, unsigned depth);
  void add_function(Function& entry);
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
  std::vector<Function> functions_;     // With code.
  std::map<Dwarf_Addr, Range> ranges_;  // By their beginnings; none overlaps another.
  std::vector<NamedScope> scopes_;      // The first stands for kNoScope.
  std::unordered_map<const void*, ScopeId> scope_of_;  // By address of the declaration's DIE.
};

}  // namespace luatrace::analyze
