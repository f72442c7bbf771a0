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
constexpr uint64_t kStepsPerByte = 8, kMinSteps = 1000;
// gcc writes where entries end, clang does not: then each level of blocks and inlined functions is
// read once more. Few bytes of a unit are nested this deeply.
constexpr uint64_t kSkipsPerByte = 24;
constexpr size_t kMaxScopeName = 4096;  // Bytes of the name of a namespace or class.

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
      return Part::kScope;
    default:
      return Part::kNone;
  }
}

bool find_sibling(Dwarf_Die& die, Dwarf_Die& sibling, bool& found, Dwarf_Off& end,
                  WalkSteps& steps) {
  const Dwarf_Off begin = dwarf_dieoffset(&die);
  const bool states_end = !dwarf_haschildren(&die) || dwarf_hasattr(&die, DW_AT_sibling);
  found = dwarf_siblingof(&die, &sibling) == 0;
  if (found && dwarf_dieoffset(&sibling) > begin) end = dwarf_dieoffset(&sibling);
  const uint64_t read = states_end || end < begin ? 0 : end - begin;
  if (read > steps.skips) return steps.left = 0, false;
  steps.skips -= read;
  return true;
}

UnitIndex::UnitIndex(const Dwarf_Die& unit) : scopes_(1) {
  const uint64_t bytes = bytes_of(unit);
  const WalkSteps all{kStepsPerByte * bytes + kMinSteps, kSkipsPerByte * bytes};
  DebugEntry entry{unit, 0};
  entry.end = dwarf_dieoffset(&entry.die) + bytes;
  steps_ = all;
  walk(entry, kNoScope, 0);
  steps_ = all;
}

void UnitIndex::walk(DebugEntry& entry, ScopeId scope, unsigned depth) {
  each_child(entry, depth, steps_, [&](DebugEntry& child) { visit(child, scope, depth); });
}

// Functions are walked, too: they may contain classes with functions (lambdas, for example).
void UnitIndex::visit(DebugEntry& entry, ScopeId scope, unsigned depth) {
  switch (part_of(&entry.die)) {
    case Part::kScope:
      return add_scope(entry, scope, depth);
    case Part::kFunction:
      if (scope) scope_of_.emplace(entry.die.addr, scope);
      add_function(entry);
      return walk(entry, kNoScope, depth + 1);
    case Part::kBlock:
      return walk(entry, kNoScope, depth + 1);
    default:
      return;
  }
}

void UnitIndex::add_scope(DebugEntry& entry, ScopeId scope, unsigned depth) {
  const char* name = dwarf_diename(&entry.die);
  const ScopeId index(static_cast<uint32_t>(scopes_.size()));
  scopes_.push_back({scope, (name ? cut_text(name, kMaxScopeName) : "(anonymous)") + "::"});
  walk(entry, index, depth + 1);
}

// Functions that the linker has discarded have address 0 and are skipped.
void UnitIndex::add_function(DebugEntry& entry) {
  const FunctionIndex index(static_cast<uint32_t>(functions_.size()));
  bool has_code = false;
  each_range(&entry.die, steps_, [&](Dwarf_Addr begin, Dwarf_Addr end) {
    if (begin == 0) return;
    has_code = true;
    add_range(begin, end, index);
  });
  if (has_code) functions_.push_back(entry);
}

// Adds the parts of the range that no earlier range covers.
void UnitIndex::add_range(Dwarf_Addr begin, Dwarf_Addr end, FunctionIndex function) {
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

const DebugEntry* UnitIndex::function_at(Dwarf_Addr address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  return address < range.end ? &functions_[range.function] : nullptr;
}

std::string UnitIndex::scopes_of(const Dwarf_Die& declaration) const {
  const auto found = scope_of_.find(declaration.addr);
  std::string text;
  for (ScopeId i = found == scope_of_.end() ? kNoScope : found->second; i; i = scopes_[i].parent)
    text.insert(0, scopes_[i].name);
  return text;
}

}  // namespace luatrace::analyze
