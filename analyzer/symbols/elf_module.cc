// SPDX-License-Identifier: MIT
#include "analyzer/symbols/elf_module.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <string_view>

#include "analyzer/symbols/demangle.h"

namespace luatrace::analyze {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxRanges = 20'000'000;  // Of all units; several units may share ranges.

// Whether the file has a .symtab, which libdwfl prefers to .dynsym.
bool has_symtab(Elf* elf) {
  for (Elf_Scn* section = nullptr; elf && (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) return true;
  }
  return false;
}

// Whether libdwfl, having loaded the module's debug information, asks for the alternate file into
// which dwz has moved part of it: it passes that file's name as if it were a debuglink.
bool is_about_alternate(Elf* elf, const char* link, GElf_Word crc) {
  GElf_Word own_crc = 0;
  const char* own = dwelf_elf_gnu_debuglink(elf, &own_crc);
  return link && crc == 0 && !(own && own_crc == 0 && strcmp(own, link) == 0);
}

// libdwfl's callback to find the debug information of a module: by our search first, then by
// libdwfl's own, which supports debuginfod, but no sysroot: with one it is not used.
int find_debuginfo(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base,
                   const char* file, const char* link, GElf_Word crc, char** found) {
  GElf_Addr bias;
  Elf* elf = dwfl_module_getelf(module, &bias);
  auto* self = *data ? static_cast<const ElfModule*>(*data) : nullptr;
  if (self && elf && is_about_alternate(elf, link, crc)) {
    bool may_search = true;
    Dwarf* dwarf = dwfl_module_getdwarf(module, &bias);
    if (int fd = self->find_alternate_file(dwarf, file, found, may_search); fd >= 0 || !may_search)
      return fd;
    return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
  }
  if (self && elf)
    if (int fd = self->find_debug_file(elf, found); fd >= 0) return fd;
  // libdwfl appends the names of the link and the file to its folder, including any "../".
  const bool leaves = (link && strchr(link, '/')) || (file && strstr(file, "/.."));
  if (!self || self->has_sysroot() || leaves) return -1;
  return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
}

// libdwfl's own search opens anything that has the right name, even a FIFO. So it is restricted to
// the system's folder, where only root makes files; find_debug_file() has searched the others.
char kOwnSearch[] = "+/usr/lib/debug";
char* own_search = kOwnSearch;

const Dwfl_Callbacks kCallbacks = {dwfl_linux_proc_find_elf, find_debuginfo,
                                   dwfl_offline_section_address, &own_search};

}  // namespace

// Removes the mark that the kernel appends to the path of a removed or replaced file.
std::string path_of(const MapInfo& map) {
  constexpr std::string_view kDeleted = " (deleted)";
  const std::string& path = map.path;
  return path.substr(0, path.size() - (path.ends_with(kDeleted) ? kDeleted.size() : 0));
}

ElfModule::ElfModule(const SymbolPaths& paths, const MapInfo& map)
    : paths_(paths), recorded_(path_of(map)), build_id_(map.build_id) {
  OpenFile file = open_regular(paths.sysroot, recorded_);
  if (file.fd < 0)
    problem_ = "no such file";
  else
    open(file.path, file.fd);
  if (!problem_.empty() && !build_id_.empty()) open_fallback();
}

ElfModule::~ElfModule() {
  if (dwfl_) dwfl_end(dwfl_);
}

// Takes ownership of `fd`. On failure, problem_ says why.
bool ElfModule::open(const std::string& path, int fd) {
  if (dwfl_) dwfl_end(dwfl_);
  module_ = nullptr;
  problem_.clear();
  dwfl_ = dwfl_begin(&kCallbacks);
  if (dwfl_) module_ = dwfl_report_elf(dwfl_, path.c_str(), path.c_str(), fd, 0, true);
  if (!module_) {  // On success the module owns fd.
    close(fd);
    problem_ = "not an ELF file";
    return false;
  }
  dwfl_report_end(dwfl_, nullptr, nullptr);
  void** data = nullptr;
  dwfl_module_info(module_, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *data = this;
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  bias_ = bias;
  if (!elf)
    problem_ = "cannot be read";
  else if (!build_id_.empty() && build_id_of(elf) != build_id_)
    problem_ = "another build (its build-id differs from the recorded one)";
  else
    read_segments();
  return problem_.empty();
}

// The file is gone or was replaced: searches the debug folders for its build-id.
void ElfModule::open_fallback() {
  const std::string why = problem_;
  for (bool debug : {false, true}) {
    OpenFile file = find_by_build_id(paths_, build_id_, debug);
    if (file.fd >= 0 && open(file.path, file.fd)) return;
  }
  problem_ = why;
}

void ElfModule::read_segments() {
  segments_.clear();
  by_code_ = false;
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr header;
    if (!gelf_getphdr(elf, static_cast<int>(i), &header) || header.p_type != PT_LOAD) continue;
    segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
    if (!(header.p_flags & PF_X)) continue;
    code_ = header.p_vaddr & ~(kPage - 1);
    by_code_ = header.p_filesz == 0;
  }
}

// Converts an address of the program to one of the module. A debug file has lost the file offsets
// of its segments; the mapping is of its only executable segment.
bool ElfModule::module_address(const MapInfo& map, uint64_t address, uint64_t& out) const {
  if (map.is_elf_address) return out = address - map.start + map.offset + bias_, true;
  if (by_code_) return out = address - map.start + code_ + bias_, true;
  const uint64_t offset = address - map.start + map.offset;
  for (const Segment& s : segments_) {
    if (offset < s.offset || offset - s.offset >= s.size) continue;
    return out = offset - s.offset + s.address + bias_, true;
  }
  return false;
}

int ElfModule::find_debug_file(Elf* elf, char** found) const {
  OpenFile file = find_by_build_id(paths_, build_id_of(elf), true);
  if (file.fd < 0) file = find_by_debuglink(paths_, elf, recorded_);
  if (file.fd >= 0) *found = strdup(file.path.c_str());
  return file.fd;
}

int ElfModule::find_alternate_file(Dwarf* dwarf, const char* debug_file, char** found,
                                   bool& may_search) const {
  OpenFile file = find_alternate(paths_, dwarf, debug_file ? debug_file : recorded_, may_search);
  is_unsafe_ = file.fd < 0 && !may_search;
  if (file.fd >= 0) *found = strdup(file.path.c_str());
  return file.fd;
}

ElfModule::Symbol ElfModule::symbol(uint64_t at) const {
  GElf_Off offset = 0;
  GElf_Sym symbol;
  Elf* elf = nullptr;
  const char* name = dwfl_module_addrinfo(module_, at, &offset, &symbol, nullptr, &elf, nullptr);
  // For libdwfl, a symbol of size 0 covers everything after it; accept it only at its own address.
  if (name && (offset == 0 || offset < symbol.st_size)) return {name, symbol.st_size, elf};
  return {};
}

std::string ElfModule::name(const MapInfo& map, uint64_t address) const {
  uint64_t at;
  if (!module_address(map, address, at)) return {};
  const Symbol found = symbol(at);
  return found.name ? demangle(found.name) : debug_name(at);
}

// Finds the compilation unit of an address. libdwfl uses .debug_aranges, which clang does not
// write; without it, the ranges of all units are read once.
std::optional<ElfModule::Unit> ElfModule::unit_at(uint64_t address) const {
  Dwarf_Addr bias = 0;
  dwfl_module_getdwarf(module_, &bias);
  if (is_unsafe_) return {};
  if (Dwarf_Die* die = dwfl_module_addrdie(module_, address, &bias)) return Unit{~0ull, bias, *die};
  if (!units_read_) read_units();
  auto after = units_.upper_bound(address);
  if (after == units_.begin()) return {};
  const Unit& unit = std::prev(after)->second;
  return address < unit.end ? std::optional(unit) : std::nullopt;
}

void ElfModule::read_units() const {
  units_read_ = true;
  WalkSteps steps{kMaxRanges};
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* die = nullptr; (die = dwfl_module_nextcu(module_, die, &bias));) {
    each_range(die, steps, [&](Dwarf_Addr begin, Dwarf_Addr end) {
      units_[begin + bias] = {end + bias, bias, *die};
    });
  }
}

const DebugEntry* ElfModule::function_at(uint64_t at) const {
  const std::optional<Unit> unit = unit_at(at);
  return unit ? functions_.find(unit->die, at - unit->bias) : nullptr;
}

// Returns the name of a static function that has only debug information, no symbol.
std::string ElfModule::debug_name(uint64_t at) const {
  const DebugEntry* found = function_at(at);
  if (!found) return {};
  Dwarf_Die die = found->die;
  return functions_.name(&die);
}

// Returns the line where the code of a function begins that is described without a location. The
// first line at that address is its own, others are of inlined functions.
SourceLine ElfModule::first_line(uint64_t at) const {
  std::optional<Unit> unit = unit_at(at);
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (!unit || dwarf_getsrclines(&unit->die, &lines, &count) != 0) return {};
  size_t first = 0;
  for (size_t end = count; first < end;) {
    const size_t middle = first + (end - first) / 2;
    Dwarf_Addr address = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, middle), &address);
    address < at - unit->bias ? first = middle + 1 : end = middle;
  }
  Dwarf_Line* line = first < count ? dwarf_onesrcline(lines, first) : nullptr;
  const char* file = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  Dwarf_Addr address = 0;
  int number = 0;
  const bool known = file && dwarf_lineaddr(line, &address) == 0 && address == at - unit->bias &&
                     dwarf_lineno(line, &number) == 0 && number > 0;
  return known ? functions_.source_line(file, static_cast<uint64_t>(number)) : SourceLine{};
}

// Returns the path of the separate debug file, or else of the file itself.
std::string ElfModule::read_from() const {
  const char *file = nullptr, *debug = nullptr;
  dwfl_module_info(module_, nullptr, nullptr, nullptr, nullptr, nullptr, &file, &debug);
  return debug ? debug : file ? file : "";
}

bool ElfModule::is_from_symtab(const Symbol& symbol) const {
  auto [found, fresh] = has_symtab_.try_emplace(symbol.elf);
  if (fresh) found->second = has_symtab(symbol.elf);
  return found->second;
}

void ElfModule::describe(const MapInfo& map, uint64_t address, NativeCode& out) const {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  if (out.build_id.empty() && elf) out.build_id = build_id_of(elf);
  uint64_t at;
  if (!module_address(map, address, at)) return;
  const Symbol found = symbol(at);
  out.bytes = found.bytes;
  const DebugEntry* function = function_at(at);
  if (found.name)
    out.named_by = is_from_symtab(found) ? "symtab" : "dynsym";
  else if (!debug_name(at).empty())
    out.named_by = "debug";
  if (found.name || function) out.read_from = read_from();
  if (!function) return;
  Dwarf_Die die = function->die;
  out.defined = functions_.definition_of(&die);
  if (!out.defined.path) out.defined = first_line(at);
  out.inlined = functions_.inlined(*function);
  if (out.inlined && out.inlined->bytes) out.bytes = out.inlined->bytes;
}

}  // namespace luatrace::analyze
