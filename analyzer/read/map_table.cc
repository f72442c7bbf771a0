// SPDX-License-Identifier: MIT
#include "analyzer/read/map_table.h"

namespace luatrace::analyze {

MapTable::MapTable(std::initializer_list<MapInfo> maps) {
  for (const MapInfo& map : maps) add(map);
}

// Takes the new range from existing ones: each is cut off, split or removed. Each addition makes up
// to one extra range, so the total number of moves is linear.
void MapTable::add(const MapInfo& map) {
  maps_.push_back(map);
  if (map.start >= map.end) return;
  const auto key = [&](uint64_t address) { return std::pair(map.process, address); };
  auto at = ranges_.lower_bound(key(map.start));
  if (at != ranges_.begin()) {
    auto& [first, before] = *std::prev(at);
    const Range old = before;
    if (first.first == map.process && old.end > map.start) {
      before.end = map.start;
      if (old.end > map.end) ranges_.emplace(key(map.end), old);
    }
  }
  while (at != ranges_.end() && at->first < key(map.end)) {
    const Range old = at->second;
    at = ranges_.erase(at);
    if (old.end > map.end) ranges_.emplace(key(map.end), old);
  }
  ranges_.insert_or_assign(key(map.start), Range{map.end, &maps_.back()});
}

const MapInfo* MapTable::find(ProcessId process, uint64_t address) const {
  auto at = ranges_.upper_bound({process, address});
  if (at == ranges_.begin()) return nullptr;
  --at;
  return at->first.first == process && address < at->second.end ? at->second.map : nullptr;
}

}  // namespace luatrace::analyze
