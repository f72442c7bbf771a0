// SPDX-License-Identifier: MIT
#include "analyzer/symbols/elf_module.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace luatrace {
namespace {

constexpr uint64_t kPage = 4096;

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  free(text);
  return out;
}

// A function's or inlined function's name: that of the linker tells overloads and namespaces apart.
std::string die_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (const char* name = dwarf_formstring(dwarf_attr_integrate(die, kind, &attribute)))
      return demangle(name);
  const char* name = dwarf_diename(die);
  return name ? name : "";
}

bool is_function(Dwarf_Die* die) {
  return dwarf_tag(die) == DW_TAG_subprogram || dwarf_tag(die) == DW_TAG_inlined_subroutine;
}

// Scopes of libdw, freed at the end.
struct Scopes {
  Dwarf_Die* list = nullptr;
  int count = 0;
  ~Scopes() { free(list); }
};

// libdwfl asks for the debug information of a module: ours first, then its own search, which knows
// debuginfod.
int find_debuginfo(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base,
                   const char* file, const char* link, GElf_Word crc, char** found) {
  GElf_Addr bias;
  Elf* elf = dwfl_module_getelf(module, &bias);
  auto* self = *data ? static_cast<const ElfModule*>(*data) : nullptr;
  if (self && elf)
    if (int fd = self->find_debug_file(elf, found); fd >= 0) return fd;
  return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
}

const Dwfl_Callbacks kCallbacks = {dwfl_linux_proc_find_elf, find_debuginfo,
                                   dwfl_offline_section_address, nullptr};

}  // namespace

// The kernel marks the path of a file that was removed or replaced.
std::string path_of(const MapInfo& map) {
  constexpr std::string_view kDeleted = " (deleted)";
  const std::string& path = map.path;
  return path.substr(0, path.size() - (path.ends_with(kDeleted) ? kDeleted.size() : 0));
}

ElfModule::ElfModule(const SymbolPaths& paths, const MapInfo& map)
    : paths_(paths), recorded_(path_of(map)), build_id_(map.build_id) {
  OpenFile file = open_regular(paths.sysroot + recorded_);
  if (file.fd < 0)
    problem_ = "no such file here";
  else
    open(file.path, file.fd);
  if (!problem_.empty() && !build_id_.empty()) open_stand_in();
}

ElfModule::~ElfModule() {
  if (dwfl_) dwfl_end(dwfl_);
}

// Takes the descriptor. On failure problem_ says why.
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

// The file is gone, or another one is in its place: the debug folders may have it by its build-id.
void ElfModule::open_stand_in() {
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

// From an address of the program to one of the module. A file of debug information has lost the
// offsets of its segments; its only executable one is what the mapping shows.
bool ElfModule::module_address(const MapInfo& map, uint64_t address, uint64_t& out) const {
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

std::string ElfModule::name(const MapInfo& map, uint64_t address) const {
  uint64_t at;
  if (!module_address(map, address, at)) return {};
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name = dwfl_module_addrinfo(module_, at, &offset, &symbol, nullptr, nullptr, nullptr);
  // A symbol without a size covers everything behind it: believe it only at its very place.
  bool inside = name && (offset == 0 || offset < symbol.st_size);
  return inside ? demangle(name) : debug_name(at);
}

// A static function that only the debug information knows.
std::string ElfModule::debug_name(uint64_t address) const {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias);
  Scopes scopes;
  scopes.count = unit ? dwarf_getscopes(unit, address - bias, &scopes.list) : 0;
  for (int i = 0; i < scopes.count; i++)
    if (dwarf_tag(&scopes.list[i]) == DW_TAG_subprogram) return die_name(&scopes.list[i]);
  return {};
}

std::vector<SourceFrame> ElfModule::frames(const MapInfo& map, uint64_t address) const {
  uint64_t at;
  if (!module_address(map, address, at)) return {};
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module_, at, &bias);
  Scopes inner, outer;
  inner.count = unit ? dwarf_getscopes(unit, at - bias, &inner.list) : 0;
  int first = 0;
  while (first < inner.count && !is_function(&inner.list[first])) first++;
  if (first >= inner.count) return {};
  // Those scopes go on where an inlined function was written; these where it was called.
  outer.count = dwarf_getscopes_die(&inner.list[first], &outer.list);

  SourceFrame place;  // Where the function that comes next is executing.
  if (Dwfl_Line* line = dwfl_module_getsrc(module_, at))
    if (const char* file = dwfl_lineinfo(line, nullptr, &place.line, nullptr, nullptr, nullptr))
      place.file = file;
  Dwarf_Files* files = nullptr;
  dwarf_getsrcfiles(unit, &files, nullptr);
  std::vector<SourceFrame> out;
  for (int i = 0; i < outer.count; i++) {
    Dwarf_Die* die = &outer.list[i];
    if (!is_function(die)) continue;
    place.function = die_name(die);
    out.push_back(place);
    if (dwarf_tag(die) == DW_TAG_subprogram) break;
    Dwarf_Word line = 0, file = 0;
    Dwarf_Attribute attribute;
    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line);
    dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file);
    const char* source = files ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
    place = {"", source ? source : "", static_cast<int>(line)};
  }
  return out;
}

}  // namespace luatrace
