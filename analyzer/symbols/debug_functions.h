// SPDX-License-Identifier: MIT
// The functions in the debug information of one file: their names, definitions, and the functions
// inlined into them.
//
// Invariant: time for a file is proportional to its size, whatever the queries: each unit is walked
// once, walks below its functions share one limit of steps (unit_index.h), and the result for each
// function is cached. Memory is, too: each name is stored once, however long or often used
// (texts.h).
#pragma once

#include <elfutils/libdw.h>

#include <map>
#include <memory>
#include <string>

#include "analyzer/symbols/native_code.h"
#include "analyzer/symbols/texts.h"
#include "analyzer/symbols/unit_index.h"

namespace luatrace::analyze {

class DebugFunctions {
 public:
  // Returns the function of `unit` at this address of the debug information; null: none.
  const DebugEntry* find(const Dwarf_Die& unit, Dwarf_Addr address);
  // Returns the name of a function, also an inlined one; "" if it has none. Prefers the linkage
  // name, which distinguishes overloads and namespaces.
  std::string name(Dwarf_Die* die);
  // Where the function is defined.
  SourceLine definition_of(Dwarf_Die* die);
  SourceLine source_line(const char* file, uint64_t line);  // file: null if unknown.
  // Returns the functions inlined into a function, at any depth.
  std::shared_ptr<const InlinedFunctions> inlined(const DebugEntry& function);

 private:
  UnitIndex& index(const Dwarf_Die& unit);
  std::string scopes_of(Dwarf_Die die);

  std::map<const void*, std::unique_ptr<UnitIndex>> units_;  // By address of the unit's DIE.
  std::map<const void*, std::shared_ptr<const InlinedFunctions>> inlined_;
  std::map<const void*, SharedText> names_;  // Of inlined functions, by address of their DIE.
  StringPool texts_;

  friend class InlinedReader;
};

}  // namespace luatrace::analyze
