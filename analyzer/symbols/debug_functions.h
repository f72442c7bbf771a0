// SPDX-License-Identifier: MIT
// The functions that the debug information of one file knows: their names, where they are defined,
// and what was inlined into them.
//
// Invariant: the work for a file is in proportion to its size, whatever is asked and how often:
// each unit is walked once, what is below its functions is (all together) walked no longer than the
// unit may be (unit_index.h), and what was found for a function is kept. So is the memory: however
// long names are and however often they are used, each is kept once (texts.h).
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
  // The function of `unit` with code at this address of the debug information; null: none.
  const UnitIndex::Function* find(const Dwarf_Die& unit, Dwarf_Addr address);
  // A function's or inlined function's name: that of the linker tells overloads and namespaces
  // apart. "" if it has none.
  std::string name(Dwarf_Die* die);
  // Where the function is defined.
  SourceLine definition_of(Dwarf_Die* die);
  SourceLine source_line(const char* file, uint64_t line);  // Null: unknown.
  // What was inlined into a function, anywhere in it.
  std::shared_ptr<const InlinedFunctions> inlined(const UnitIndex::Function& function);

 private:
  UnitIndex& index(const Dwarf_Die& unit);
  std::string folders_of(Dwarf_Die die);

  std::map<const void*, std::unique_ptr<UnitIndex>> units_;  // By place of the unit.
  std::map<const void*, std::shared_ptr<const InlinedFunctions>> inlined_;
  std::map<const void*, SharedText> names_;  // Of what is inlined, by place of its description.
  StringPool texts_;

  friend class InlinedReader;
};

}  // namespace luatrace::analyze
