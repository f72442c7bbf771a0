// SPDX-License-Identifier: MIT
#include "analyzer/symbols/elf_module.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

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

// What may hold code, and what may hold functions without being code itself.
enum class Part { kNone, kFunction, kBlock, kFolder };

Part part_of(Dwarf_Die* die) {
  switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
      return Part::kFunction;
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

// Namespaces and classes around where a function is declared: "parts::".
std::string folders_of(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  for (unsigned kind : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(&die, kind, &attribute), &origin)) die = origin;
  }
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&die, &scopes);
  std::string text;
  for (int i = 1; i < count; i++) {
    if (part_of(&scopes[i]) != Part::kFolder) break;
    const char* name = dwarf_diename(&scopes[i]);
    text = std::string(name ? name : "(anonymous)") + "::" + text;
  }
  free(scopes);
  return text;
}

// A function's or inlined function's name: that of the linker tells overloads and namespaces apart.
std::string die_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (const char* name = dwarf_formstring(dwarf_attr_integrate(die, kind, &attribute)))
      return demangle(name);
  const char* name = dwarf_diename(die);
  return name ? folders_of(*die) + name : "";
}

// The functions open at an address, outermost first: one, and those inlined into each other there.
// Not dwarf_getscopes(): it does not look into namespaces, where clang has functions.
class FunctionFinder {
 public:
  explicit FunctionFinder(Dwarf_Addr address) : address_(address) {}

  // Looks into what is below `die`; true if a function was found.
  bool look_below(Dwarf_Die die, unsigned depth) {
    Dwarf_Die child;
    if (depth > kDeepest || dwarf_child(&die, &child) != 0) return false;
    do {
      if (++steps_ > kMostSteps) return true;
      if (look_at(child, depth)) return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
  }
  std::vector<Dwarf_Die> found;

 private:
  // Those of hostile files could be without end.
  static constexpr unsigned kDeepest = 500;
  static constexpr unsigned kMostSteps = 20'000'000;

  bool look_at(Dwarf_Die& die, unsigned depth) {
    const Part part = part_of(&die);
    if (part == Part::kFolder) return look_below(die, depth + 1);
    if (part == Part::kNone || dwarf_haspc(&die, address_) <= 0) return false;
    if (part == Part::kFunction) found.push_back(die);
    return look_below(die, depth + 1) || part == Part::kFunction;
  }

  Dwarf_Addr address_;
  unsigned steps_ = 0;
};

std::vector<Dwarf_Die> functions_at(const Dwarf_Die& unit, Dwarf_Addr address) {
  FunctionFinder finder(address);
  finder.look_below(unit, 0);
  return std::move(finder.found);
}

// Whether libdwfl, which has the module's debug information by now, asks for the file that dwz has
// put a part of it into: it names that file as if it were a debuglink.
bool is_about_alternate(Elf* elf, const char* link, GElf_Word crc) {
  GElf_Word own_crc = 0;
  const char* own = dwelf_elf_gnu_debuglink(elf, &own_crc);
  return link && crc == 0 && !(own && own_crc == 0 && strcmp(own, link) == 0);
}

// libdwfl asks for the debug information of a module: ours first, then its own search, which knows
// debuginfod.
int find_debuginfo(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base,
                   const char* file, const char* link, GElf_Word crc, char** found) {
  GElf_Addr bias;
  Elf* elf = dwfl_module_getelf(module, &bias);
  auto* self = *data ? static_cast<const ElfModule*>(*data) : nullptr;
  if (self && elf && is_about_alternate(elf, link, crc)) {
    bool may_ask = true;
    Dwarf* dwarf = dwfl_module_getdwarf(module, &bias);
    if (int fd = self->find_alternate_file(dwarf, file, found, may_ask); fd >= 0 || !may_ask)
      return fd;
    return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
  }
  if (self && elf)
    if (int fd = self->find_debug_file(elf, found); fd >= 0) return fd;
  return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
}

// libdwfl's own search opens whatever has the right name, a FIFO, too: so it is kept to the
// system's folder, where the names are root's. The others find_debug_file has looked into.
char kOwnSearch[] = "+/usr/lib/debug";
char* own_search = kOwnSearch;

const Dwfl_Callbacks kCallbacks = {dwfl_linux_proc_find_elf, find_debuginfo,
                                   dwfl_offline_section_address, &own_search};

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

int ElfModule::find_alternate_file(Dwarf* dwarf, const char* debug_file, char** found,
                                   bool& may_ask) const {
  OpenFile file = find_alternate(paths_, dwarf, debug_file ? debug_file : recorded_, may_ask);
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

// What was compiled at once and has this address. libdwfl looks into .debug_aranges, which clang
// does not write: then each unit is asked for its ranges, which are read once.
std::optional<ElfModule::Unit> ElfModule::unit_at(uint64_t address) const {
  Dwarf_Addr bias = 0;
  if (Dwarf_Die* die = dwfl_module_addrdie(module_, address, &bias)) return Unit{~0ull, bias, *die};
  if (!units_read_) read_units();
  auto after = units_.upper_bound(address);
  if (after == units_.begin()) return {};
  const Unit& unit = std::prev(after)->second;
  return address < unit.end ? std::optional(unit) : std::nullopt;
}

void ElfModule::read_units() const {
  units_read_ = true;
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* die = nullptr; (die = dwfl_module_nextcu(module_, die, &bias));) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;)
      if (begin < end) units_[begin + bias] = {end + bias, bias, *die};
  }
}

// A static function that only the debug information knows.
std::string ElfModule::debug_name(uint64_t address) const {
  std::optional<Unit> unit = unit_at(address);
  if (!unit) return {};
  std::vector<Dwarf_Die> open = functions_at(unit->die, address - unit->bias);
  return open.empty() ? "" : die_name(&open[0]);
}

std::vector<SourceFrame> ElfModule::frames(const MapInfo& map, uint64_t address) const {
  uint64_t at;
  if (!module_address(map, address, at)) return {};
  std::optional<Unit> unit = unit_at(at);
  if (!unit) return {};
  std::vector<Dwarf_Die> open = functions_at(unit->die, at - unit->bias);

  SourceFrame place;  // Where the function that comes next is executing.
  if (Dwarf_Line* line = dwarf_getsrc_die(&unit->die, at - unit->bias)) {
    dwarf_lineno(line, &place.line);
    if (const char* file = dwarf_linesrc(line, nullptr, nullptr)) place.file = file;
  }
  Dwarf_Files* files = nullptr;
  dwarf_getsrcfiles(&unit->die, &files, nullptr);
  std::vector<SourceFrame> out;
  for (auto function = open.rbegin(); function != open.rend(); ++function) {
    place.function = die_name(&*function);
    out.push_back(place);
    Dwarf_Word line = 0, file = 0;
    Dwarf_Attribute attribute;
    dwarf_formudata(dwarf_attr(&*function, DW_AT_call_line, &attribute), &line);
    dwarf_formudata(dwarf_attr(&*function, DW_AT_call_file, &attribute), &file);
    const char* source = files ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
    place = {"", source ? source : "", static_cast<int>(line)};
  }
  return out;
}

}  // namespace luatrace
