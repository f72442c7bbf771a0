// SPDX-License-Identifier: MIT
#include "analyzer/symbols/symbolizer.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "analyzer/decode/escape.h"

namespace luatrace {
namespace {

std::string hex(uint64_t value) {
  std::ostringstream out;
  out << "0x" << std::hex << value;
  return out.str();
}

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  free(text);
  return out;
}

// Opens a regular file only: a path from a trace may name a pipe or a device.
int open_regular(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat st;
  if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
    close(fd);
    fd = -1;
  }
  return fd;
}

const Dwfl_Callbacks kCallbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo,
                                   dwfl_offline_section_address, nullptr};

}  // namespace

// One ELF file, opened once, at address 0.
class ElfModule {
 public:
  ElfModule(const std::string& path, const std::string& build_id);
  ~ElfModule() {
    if (dwfl_) dwfl_end(dwfl_);
  }

  const std::string& problem() const { return problem_; }
  // Name of the function at this offset of the file, "" if there is none.
  std::string name(uint64_t file_offset) const;

 private:
  bool same_build(Elf* elf, const std::string& build_id);
  void read_segments(Elf* elf);
  std::string debug_name(uint64_t address) const;

  struct Segment {
    uint64_t offset, size, address;
  };
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  uint64_t bias_ = 0;
  std::vector<Segment> segments_;
  std::string problem_;
};

ElfModule::ElfModule(const std::string& path, const std::string& build_id) {
  int fd = open_regular(path);
  if (fd < 0) {
    problem_ = "no such file here";
    return;
  }
  dwfl_ = dwfl_begin(&kCallbacks);
  if (dwfl_) module_ = dwfl_report_elf(dwfl_, path.c_str(), path.c_str(), fd, 0, true);
  if (!module_) {  // On success the module owns fd.
    close(fd);
    problem_ = "not an ELF file";
    return;
  }
  dwfl_report_end(dwfl_, nullptr, nullptr);
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  bias_ = bias;
  if (!elf || !same_build(elf, build_id)) {
    if (problem_.empty()) problem_ = "cannot be read";
    return;
  }
  read_segments(elf);
}

bool ElfModule::same_build(Elf* elf, const std::string& build_id) {
  const void* id = nullptr;
  ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
  std::string here = size > 0 ? std::string(static_cast<const char*>(id), size) : "";
  if (build_id.empty() || here == build_id) return true;
  problem_ = "another build (its build-id differs from the recorded one)";
  return false;
}

void ElfModule::read_segments(Elf* elf) {
  size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr header;
    if (!gelf_getphdr(elf, static_cast<int>(i), &header) || header.p_type != PT_LOAD) continue;
    segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
}

std::string ElfModule::name(uint64_t file_offset) const {
  for (const Segment& s : segments_) {
    if (file_offset < s.offset || file_offset - s.offset >= s.size) continue;
    uint64_t address = file_offset - s.offset + s.address + bias_;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name =
        dwfl_module_addrinfo(module_, address, &offset, &symbol, nullptr, nullptr, nullptr);
    // A symbol without a size covers everything behind it: believe it only at its very place.
    bool inside = name && (offset == 0 || offset < symbol.st_size);
    return inside ? demangle(name) : debug_name(address);
  }
  return {};
}

// A static function that only the debug information knows.
std::string ElfModule::debug_name(uint64_t address) const {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias);
  Dwarf_Die* scopes = nullptr;
  int count = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
  std::string found;
  for (int i = 0; i < count && found.empty(); i++)
    if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
      if (const char* name = dwarf_diename(&scopes[i])) found = name;
  free(scopes);
  return found;
}

Symbolizer::Symbolizer(std::string sysroot, Warner warner)
    : sysroot_(std::move(sysroot)), warner_(std::move(warner)) {}

Symbolizer::~Symbolizer() = default;

ElfModule& Symbolizer::module(const MapInfo& map) {
  auto& slot = modules_[{map.path, map.build_id}];
  if (!slot) {
    slot = std::make_unique<ElfModule>(sysroot_ + map.path, map.build_id);
    if (!slot->problem().empty())
      warner_(printable(sysroot_ + map.path) + ": " + slot->problem() +
              ": its functions are shown by their offset" +
              (sysroot_.empty() ? " (--sysroot DIR says where the files are)" : ""));
  }
  return *slot;
}

Symbolizer::Result Symbolizer::find(const std::vector<MapInfo>& maps, uint32_t process,
                                    uint64_t address) {
  for (auto map = maps.rbegin(); map != maps.rend(); ++map) {
    if (map->process != process || address < map->start || address >= map->end) continue;
    uint64_t offset = address - map->start + map->offset;
    std::string name;
    if (map->path.starts_with('/')) name = module(*map).name(offset);
    if (name.empty()) name = map->path.substr(map->path.rfind('/') + 1) + '+' + hex(offset);
    return {name, map->path};
  }
  return {};
}

}  // namespace luatrace
