// SPDX-License-Identifier: MIT
// What was compiled at once, read once: which function has an address, and in which namespaces and
// classes functions are declared. So many addresses of one unit cost one walk.
//
// Invariant: entries visited are in proportion to the unit's bytes (walks in damaged files could go
// in circles), at most kDeepest below each other; and so are those that libdw reads to find what is
// behind an entry that does not say where it ends.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace luatrace::analyze {

// What may hold code, and what may hold functions without being code itself.
enum class Part { kNone, kFunction, kInlined, kBlock, kFolder };
Part part_of(Dwarf_Die* die);

// What a walk may still do. Each entry visited and each range of addresses is a step.
struct WalkSteps {
  uint64_t left = 0;
  uint64_t skips = 0;  // Bytes of entries that libdw may read to find what is behind them.
  bool take() { return left > 0 && left-- > 0; }
};
constexpr unsigned kDeepest = 500;

// The entry beside `die`. Where `die` does not say where it ends, libdw reads all below it for
// that, at each level again: that is charged. `end`: where what both are in ends; becomes where
// `die` does. False, and no steps are left: too much was read.
bool find_sibling(Dwarf_Die& die, Dwarf_Die& sibling, bool& found, Dwarf_Off& end,
                  WalkSteps& steps);

class UnitIndex {
 public:
  explicit UnitIndex(const Dwarf_Die& unit);

  struct Function {
    Dwarf_Die die;
    Dwarf_Off end;  // Of its description.
  };
  // The function with code at this address of the debug information, null if there is none. Where
  // several claim it, it is the first, or the outer one.
  const Function* function_at(Dwarf_Addr address) const;
  // "parts::", of the namespaces and classes around a declaration in this unit.
  std::string folders_of(const Dwarf_Die& declaration) const;
  // For walks below functions of the unit, all together.
  WalkSteps& steps() { return steps_; }

 private:
  void walk(Function entry, uint32_t folder, unsigned depth);
  void visit(Function& entry, uint32_t folder, unsigned depth);
  void add_folder(Function& entry, uint32_t folder, unsigned depth);
  void add_function(Function& entry);
  void add_range(Dwarf_Addr begin, Dwarf_Addr end, uint32_t function);

  struct Folder {
    uint32_t parent;
    std::string name;
  };
  struct Range {
    Dwarf_Addr end;
    uint32_t function;
  };
  WalkSteps steps_;
  std::vector<Function> functions_;     // With code.
  std::map<Dwarf_Addr, Range> ranges_;  // By their beginnings; none overlaps another.
  std::vector<Folder> folders_;         // 0: none.
  std::unordered_map<const void*, uint32_t> folder_of_;  // By place of the declaration.
};

}  // namespace luatrace::analyze
