// SPDX-License-Identifier: MIT
#include "analyzer/symbols/symbolizer.h"

#include <optional>

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

// Returns the mapping around a C function; empty if none is known. For processes that ended before
// their mappings were read, the description may have it.
std::optional<MapInfo> find_map(const MapTable& maps, const Function& f) {
  if (const MapInfo* map = maps.find(f.process, f.addr)) return *map;
  if (f.chunk.empty()) return std::nullopt;
  return MapInfo{f.process, f.addr, f.addr + 1, f.fileofs, "", f.chunk, true};
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

Symbol Symbolizer::find(const MapTable& maps, const Function& function) {
  const std::optional<MapInfo> map = find_map(maps, function);
  if (!map) return {};
  const uint64_t offset = function.addr - map->start + map->offset;
  const auto without_symbol = [&](bool usable) {
    return Symbol{place_name(*map, offset, usable), path_of(*map), offset, nullptr};
  };
  if (!map->path.starts_with('/')) return without_symbol(true);
  const ElfModule& elf = module(*map);
  if (!elf.problem().empty()) return without_symbol(false);
  std::string name = elf.name(*map, function.addr);
  return name.empty() ? without_symbol(true) : Symbol{std::move(name), path_of(*map), 0, nullptr};
}

NativeCode Symbolizer::describe(const MapTable& maps, const Function& function) {
  NativeCode code;
  const std::optional<MapInfo> map = find_map(maps, function);
  if (!map) return code;
  code.module = path_of(*map);
  code.build_id = map->build_id;
  code.offset = function.addr - map->start + map->offset;
  if (!map->path.starts_with('/')) return code;
  const ElfModule& elf = module(*map);
  if (elf.problem().empty()) elf.describe(*map, function.addr, code);
  return code;
}

}  // namespace luatrace::analyze
