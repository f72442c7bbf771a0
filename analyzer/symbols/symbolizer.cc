// SPDX-License-Identifier: MIT
#include "analyzer/symbols/symbolizer.h"

#include "analyzer/symbols/elf_module.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kShownId = 8;  // Bytes of a build-id in a name; the warning has all of them.

// The fallback name of a function without a symbol.
std::string place_name(const MapInfo& map, uint64_t offset, bool usable) {
  const std::string path = path_of(map);
  std::string name = path.substr(path.rfind('/') + 1);
  if (!usable && !map.build_id.empty())
    name += '[' + hex_bytes(map.build_id.substr(0, kShownId)) + ']';
  return name + '+' + hex(offset);
}

const MapInfo* find_map(const MapTable& maps, const MapInfo& own, uint64_t address) {
  const MapInfo* const map = maps.find(own.process, address);
  return map || address < own.start || address >= own.end ? map : &own;
}

}  // namespace

Symbolizer::Symbolizer(std::string sysroot, Warner warner, std::vector<std::string> debug_dirs)
    : paths_{std::move(sysroot), std::move(debug_dirs)}, warner_(std::move(warner)) {}

Symbolizer::~Symbolizer() = default;

ElfModule& Symbolizer::module(const MapInfo& map) {
  auto& slot = modules_[{map.path, map.build_id}];
  if (!slot) {
    slot = std::make_unique<ElfModule>(paths_, map);
    std::string id = map.build_id.empty() ? "" : ", build-id " + hex_bytes(map.build_id);
    if (!slot->problem().empty())
      warner_(printable(paths_.sysroot + path_of(map)) + ": " + slot->problem() + id +
              ": its functions are shown by their offset (" +
              (paths_.sysroot.empty() ? "--sysroot DIR says where the files are, " : "") +
              "--debug-dir DIR where debug files are)");
  }
  return *slot;
}

Symbolizer::Result Symbolizer::find(const MapTable& maps, const MapInfo& own, uint64_t address) {
  const MapInfo* map = find_map(maps, own, address);
  if (!map) return {};
  const uint64_t offset = address - map->start + map->offset;
  if (!map->path.starts_with('/')) return {place_name(*map, offset, true), path_of(*map), offset};
  ElfModule& elf = module(*map);
  const bool usable = elf.problem().empty();
  std::string name = usable ? elf.name(*map, address) : "";
  if (!name.empty()) return {name, path_of(*map), 0};
  return {place_name(*map, offset, usable), path_of(*map), offset};
}

NativeCode Symbolizer::describe(const MapTable& maps, const MapInfo& own, uint64_t address) {
  NativeCode code;
  const MapInfo* map = find_map(maps, own, address);
  if (!map) return code;
  code.module = path_of(*map);
  code.build_id = map->build_id;
  code.offset = address - map->start + map->offset;
  if (!map->path.starts_with('/')) return code;
  const ElfModule& elf = module(*map);
  if (elf.problem().empty()) elf.describe(*map, address, code);
  return code;
}

}  // namespace luatrace::analyze
