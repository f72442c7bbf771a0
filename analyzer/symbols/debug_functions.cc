// SPDX-License-Identifier: MIT
#include "analyzer/symbols/debug_functions.h"

#include <dwarf.h>

#include <cstring>
#include <tuple>

#include "analyzer/symbols/demangle.h"

namespace luatrace::analyze {

static constexpr size_t kLongestPath = 4096;  // The kernel's PATH_MAX.

// Returns null for "???", libdw's name of file 0, which does not exist before DWARF 5.
static const char* source_file(Dwarf_Files* files, Dwarf_Word number) {
  const char* name = files ? dwarf_filesrc(files, number, nullptr, nullptr) : nullptr;
  return name && strcmp(name, "???") != 0 ? name : nullptr;
}

SourceLine DebugFunctions::source_line(const char* file, uint64_t line) {
  return {file ? texts_.get(cut_text(file, kLongestPath)) : nullptr, line};
}

// Does not use dwarf_decl_file(): that uses the files of the wrong unit if the DIE refers to
// another unit, rejects file 0, which clang uses, and aborts if a unit has no files.
SourceLine DebugFunctions::definition_of(Dwarf_Die* die) {
  Dwarf_Attribute in_file, in_line;
  Dwarf_Word number = 0, line = 0;
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  const bool known =
      dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &in_file), &number) == 0 &&
      dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &in_line), &line) == 0;
  if (!known ||
      !dwarf_cu_die(in_file.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr))
    return {};
  dwarf_getsrcfiles(&unit, &files, nullptr);
  const char* file = source_file(files, number);
  return file ? source_line(file, line) : SourceLine{};
}

// Lists the functions inlined into one function.
class InlinedReader {
 public:
  InlinedReader(DebugFunctions& functions, const Dwarf_Die& unit, WalkSteps& steps)
      : functions_(functions), steps_(steps) {
    Dwarf_Die die = unit;
    dwarf_getsrcfiles(&die, &files_, nullptr);
  }
  InlinedFunctions read(DebugEntry function) {
    out_.bytes = bytes_of(&function.die);
    below(function, kNotInlined, 0);
    out_.cut |= functions_.texts_.is_full();
    return in_order();
  }

 private:
  static constexpr size_t kMaxRows = 20'000;
  static constexpr InlinedId kNoRow{UINT32_MAX};  // The list was full.

  void below(DebugEntry& entry, InlinedId parent, unsigned depth);
  InlinedId enter(Dwarf_Die& die, InlinedId parent);
  InlinedFunctions in_order();
  uint64_t bytes_of(Dwarf_Die* die);
  SourceLine call_of(Dwarf_Die* die);
  const SharedText& name_of(Dwarf_Die* die, const void* origin);

  DebugFunctions& functions_;
  WalkSteps& steps_;
  Dwarf_Files* files_ = nullptr;
  std::map<Dwarf_Word, SharedText> file_names_;  // By file number.
  InlinedFunctions out_;
  // By parent, inlined function, and file and line of the call.
  std::map<std::tuple<InlinedId, const void*, SharedText, uint64_t>, InlinedId> rows_;
};

// Nested functions are skipped: they have inlined calls of their own.
void InlinedReader::below(DebugEntry& entry, InlinedId parent, unsigned depth) {
  const bool whole = each_child(entry, depth, steps_, [&](DebugEntry& child) {
    const Part part = part_of(&child.die);
    if (part == Part::kBlock) below(child, parent, depth + 1);
    if (part == Part::kInlined) below(child, enter(child.die, parent), depth + 1);
  });
  out_.cut |= !whole;
}

// Adds an inlined call; returns its row, from 1, or kNoRow.
InlinedId InlinedReader::enter(Dwarf_Die& die, InlinedId parent) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin = die;
  dwarf_formref_die(dwarf_attr(&die, DW_AT_abstract_origin, &attribute), &origin);
  SourceLine call = call_of(&die);
  auto& list = out_.list;
  const InlinedId next(static_cast<uint32_t>(list.size() + 1));
  const bool has_space = parent != kNoRow && list.size() < kMaxRows;
  const auto key = std::tuple(parent, static_cast<const void*>(origin.addr), call.path, call.line);
  auto found = rows_.find(key);
  if (found == rows_.end() && !has_space) return out_.more++, kNoRow;
  if (found == rows_.end()) {
    found = rows_.emplace(key, next).first;
    const uint32_t depth = parent ? list[parent - 1].depth + 1 : 1;
    list.push_back(
        {parent, depth, name_of(&die, origin.addr), functions_.definition_of(&die), call, 0, 0});
  }
  InlinedFunction& row = list[found->second - 1];
  row.times++;
  row.bytes += bytes_of(&die);
  return found->second;
}

// Sorts rows after their parents: a parent that occurs again may have got new children.
InlinedFunctions InlinedReader::in_order() {
  const auto& list = out_.list;
  std::vector<std::vector<InlinedId>> children(list.size() + 1);
  for (auto i = static_cast<uint32_t>(list.size()); i-- > 0;)
    children[list[i].parent].emplace_back(i + 1);
  std::vector<InlinedId> place(list.size() + 1), open = children[kNotInlined];
  InlinedFunctions sorted{{}, out_.more, out_.cut, out_.bytes};
  while (!open.empty()) {
    const InlinedId row = open.back();
    open.pop_back();
    sorted.list.push_back(list[row - 1]);
    place[row] = InlinedId(static_cast<uint32_t>(sorted.list.size()));
    sorted.list.back().parent = place[list[row - 1].parent];
    open.insert(open.end(), children[row].begin(), children[row].end());
  }
  return sorted;
}

uint64_t InlinedReader::bytes_of(Dwarf_Die* die) {
  uint64_t sum = 0;
  each_range(die, steps_, [&](Dwarf_Addr begin, Dwarf_Addr end) { sum += end - begin; });
  return sum;
}

SourceLine InlinedReader::call_of(Dwarf_Die* die) {
  Dwarf_Word line = 0, file = 0;
  Dwarf_Attribute attribute;
  dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line);
  dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file);
  auto [found, fresh] = file_names_.try_emplace(file);
  if (fresh) found->second = functions_.source_line(source_file(files_, file), 0).path;
  return {found->second, line};
}

const SharedText& InlinedReader::name_of(Dwarf_Die* die, const void* origin) {
  auto [found, fresh] = functions_.names_.try_emplace(origin);
  if (fresh) found->second = functions_.texts_.get(functions_.name(die));
  return found->second;
}

UnitIndex& DebugFunctions::index(const Dwarf_Die& unit) {
  auto& slot = units_[unit.addr];
  if (!slot) slot = std::make_unique<UnitIndex>(unit);
  return *slot;
}

const DebugEntry* DebugFunctions::find(const Dwarf_Die& unit, Dwarf_Addr address) {
  return index(unit).function_at(address);
}

// Returns the namespaces and classes around a function's declaration: "parts::".
std::string DebugFunctions::scopes_of(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  for (unsigned kind : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(&die, kind, &attribute), &origin)) die = origin;
  }
  Dwarf_Die unit;
  return dwarf_diecu(&die, &unit, nullptr, nullptr) ? index(unit).scopes_of(die) : "";
}

std::string DebugFunctions::name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (const char* name = dwarf_formstring(dwarf_attr_integrate(die, kind, &attribute)))
      return demangle(name);
  const char* name = dwarf_diename(die);
  if (!name) return "";
  return cut_text((scopes_of(*die) + cut_text(name, kLongestName)).c_str(), kLongestName);
}

std::shared_ptr<const InlinedFunctions> DebugFunctions::inlined(const DebugEntry& function) {
  auto& slot = inlined_[function.die.addr];
  Dwarf_Die die = function.die, unit;
  if (!slot && dwarf_diecu(&die, &unit, nullptr, nullptr))
    slot = std::make_shared<InlinedFunctions>(
        InlinedReader(*this, unit, index(unit).steps()).read(function));
  return slot;
}

}  // namespace luatrace::analyze
