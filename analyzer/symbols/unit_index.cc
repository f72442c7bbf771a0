// SPDX-License-Identifier: MIT
#include "analyzer/symbols/unit_index.h"

#include <dwarf.h>

#include <algorithm>
#include <iterator>

namespace luatrace {
namespace {

// A unit has fewer entries than bytes. Ranges stand elsewhere: few functions have more than two,
// what is inlined may have dozens.
constexpr uint64_t kStepsForByte = 8, kStepsAtLeast = 1000;

uint64_t bytes_of(Dwarf_Die unit) {
  const Dwarf_Off begin = dwarf_dieoffset(&unit) - dwarf_cuoffset(&unit);
  Dwarf_Off next = 0, abbreviations = 0;
  size_t header = 0;
  uint8_t address_size = 0, offset_size = 0;
  const int status = dwarf_nextcu(dwarf_cu_getdwarf(unit.cu), begin, &next, &header, &abbreviations,
                                  &address_size, &offset_size);
  return status == 0 && next > begin ? next - begin : 0;
}

}  // namespace

Part part_of(Dwarf_Die* die) {
  switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
      return Part::kFunction;
    case DW_TAG_inlined_subroutine:
      return Part::kInlined;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
      return Part::kBlock;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return Part::kFolder;
    default:
      return Part::kNone;
  }
}

UnitIndex::UnitIndex(const Dwarf_Die& unit) : folders_(1) {
  const uint64_t all = kStepsForByte * bytes_of(unit) + kStepsAtLeast;
  steps_.left = all;
  walk(unit, 0, 0);
  steps_.left = all;
}

void UnitIndex::walk(Dwarf_Die die, uint32_t folder, unsigned depth) {
  Dwarf_Die child;
  if (depth > kDeepest || dwarf_child(&die, &child) != 0) return;
  do {
    if (!steps_.take()) return;
    visit(child, folder, depth);
  } while (dwarf_siblingof(&child, &child) == 0);
}

// Inside of functions, too: there are classes with functions of their own (a lambda is one).
void UnitIndex::visit(Dwarf_Die& die, uint32_t folder, unsigned depth) {
  switch (part_of(&die)) {
    case Part::kFolder:
      return add_folder(die, folder, depth);
    case Part::kFunction:
      if (folder) folder_of_.emplace(die.addr, folder);
      add_function(die);
      return walk(die, 0, depth + 1);
    case Part::kBlock:
      return walk(die, 0, depth + 1);
    default:
      return;
  }
}

void UnitIndex::add_folder(Dwarf_Die& die, uint32_t folder, unsigned depth) {
  const char* name = dwarf_diename(&die);
  const auto index = static_cast<uint32_t>(folders_.size());
  folders_.push_back({folder, std::string(name ? name : "(anonymous)") + "::"});
  walk(die, index, depth + 1);
}

// What the linker has thrown away is said to be at 0.
void UnitIndex::add_function(Dwarf_Die& die) {
  const auto index = static_cast<uint32_t>(functions_.size());
  Dwarf_Addr base = 0, begin = 0, end = 0;
  bool has_code = false;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0 && steps_.take();) {
    if (begin == 0) continue;
    has_code = true;
    add_range(begin, end, index);
  }
  if (has_code) functions_.push_back(die);
}

// Only what none before it has.
void UnitIndex::add_range(Dwarf_Addr begin, Dwarf_Addr end, uint32_t function) {
  while (begin < end && steps_.take()) {
    const auto after = ranges_.upper_bound(begin);
    if (after != ranges_.begin() && std::prev(after)->second.end > begin) {
      begin = std::prev(after)->second.end;
      continue;
    }
    const Dwarf_Addr stop = after == ranges_.end() ? end : std::min(end, after->first);
    ranges_.emplace(begin, Range{stop, function});
    begin = stop;
  }
}

const Dwarf_Die* UnitIndex::function_at(Dwarf_Addr address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  return address < range.end ? &functions_[range.function] : nullptr;
}

std::string UnitIndex::folders_of(const Dwarf_Die& declaration) const {
  const auto found = folder_of_.find(declaration.addr);
  std::string text;
  for (uint32_t i = found == folder_of_.end() ? 0 : found->second; i; i = folders_[i].parent)
    text.insert(0, folders_[i].name);
  return text;
}

}  // namespace luatrace
