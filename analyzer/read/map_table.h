// SPDX-License-Identifier: MIT
// The file mappings in a trace, searchable by process and address.
//
// Invariant: ranges_ has no overlaps; each address of a process is in the range of the mapping that
// was added last for it. So a lookup is one search, however many mappings there are.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <utility>

#include "analyzer/read/model.h"

namespace luatrace::analyze {

class MapTable {
 public:
  MapTable() = default;
  MapTable(std::initializer_list<MapInfo> maps);
  MapTable(MapTable&&) = default;
  MapTable& operator=(MapTable&&) = default;

  void add(const MapInfo& map);
  // Returns the last added mapping that contains the address; null if there is none.
  const MapInfo* find(ProcessId process, uint64_t address) const;

 private:
  struct Range {
    uint64_t end;
    const MapInfo* map;
  };
  std::deque<MapInfo> maps_;
  std::map<std::pair<ProcessId, uint64_t>, Range> ranges_;  // By process and first address.
};

}  // namespace luatrace::analyze
