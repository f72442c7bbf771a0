// SPDX-License-Identifier: MIT
#include "analyzer/symbols/unit_index.h"

#include <dwarf.h>

#include <algorithm>
#include <iterator>

#include "analyzer/symbols/demangle.h"

namespace luatrace::analyze {
namespace {

// A unit has fewer entries than bytes. Ranges are stored elsewhere: few functions have more than
// two, but inlined ones may have dozens.
constexpr uint64_t kStepsForByte = 8, kStepsAtLeast = 1000;
// gcc writes where entries end, clang does not: then each level of blocks and inlined functions is
// read once more. Few bytes of a unit are nested this deeply.
constexpr uint64_t kSkipsForByte = 24;
constexpr size_t kLongestFolder = 4096;  // Bytes of the name of a namespace or class.

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

bool find_sibling(Dwarf_Die& die, Dwarf_Die& sibling, bool& found, Dwarf_Off& end,
                  WalkSteps& steps) {
  const Dwarf_Off begin = dwarf_dieoffset(&die);
  const bool says = !dwarf_haschildren(&die) || dwarf_hasattr(&die, DW_AT_sibling);
  found = dwarf_siblingof(&die, &sibling) == 0;
  if (found && dwarf_dieoffset(&sibling) > begin) end = dwarf_dieoffset(&sibling);
  const uint64_t read = says || end < begin ? 0 : end - begin;
  if (read > steps.skips) return steps.left = 0, false;
  steps.skips -= read;
  return true;
}

UnitIndex::UnitIndex(const Dwarf_Die& unit) : folders_(1) {
  const uint64_t bytes = bytes_of(unit);
  const WalkSteps all{kStepsForByte * bytes + kStepsAtLeast, kSkipsForByte * bytes};
  Function entry{unit, 0};
  entry.end = dwarf_dieoffset(&entry.die) + bytes;
  steps_ = all;
  walk(entry, 0, 0);
  steps_ = all;
}

void UnitIndex::walk(Function entry, uint32_t folder, unsigned depth) {
  Function child;
  if (depth > kDeepest || dwarf_child(&entry.die, &child.die) != 0) return;
  for (bool more = true; more && steps_.take();) {
    Dwarf_Die next;
    child.end = entry.end;
    if (!find_sibling(child.die, next, more, child.end, steps_)) return;
    visit(child, folder, depth);
    child.die = next;
  }
}

// Functions are walked, too: they may contain classes with functions (lambdas, for example).
void UnitIndex::visit(Function& entry, uint32_t folder, unsigned depth) {
  switch (part_of(&entry.die)) {
    case Part::kFolder:
      return add_folder(entry, folder, depth);
    case Part::kFunction:
      if (folder) folder_of_.emplace(entry.die.addr, folder);
      add_function(entry);
      return walk(entry, 0, depth + 1);
    case Part::kBlock:
      return walk(entry, 0, depth + 1);
    default:
      return;
  }
}

void UnitIndex::add_folder(Function& entry, uint32_t folder, unsigned depth) {
  const char* name = dwarf_diename(&entry.die);
  const auto index = static_cast<uint32_t>(folders_.size());
  folders_.push_back({folder, (name ? cut_text(name, kLongestFolder) : "(anonymous)") + "::"});
  walk(entry, index, depth + 1);
}

// Functions that the linker has discarded have address 0 and are skipped.
void UnitIndex::add_function(Function& entry) {
  const auto index = static_cast<uint32_t>(functions_.size());
  Dwarf_Addr base = 0, begin = 0, end = 0;
  bool has_code = false;
  for (ptrdiff_t at = 0;
       (at = dwarf_ranges(&entry.die, at, &base, &begin, &end)) > 0 && steps_.take();) {
    if (begin == 0) continue;
    has_code = true;
    add_range(begin, end, index);
  }
  if (has_code) functions_.push_back(entry);
}

// Adds the parts of the range that no earlier range covers.
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

const UnitIndex::Function* UnitIndex::function_at(Dwarf_Addr address) const {
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

}  // namespace luatrace::analyze
