// SPDX-License-Identifier: MIT
// The mappings of files that a trace tells of, by process and address: which one has an address.
//
// Invariant: ranges_ has no overlaps; each address of a process is in the range of that mapping of
// it that was added last. So a question is one search, however many mappings there are.
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
  // Of overlapping ones the last added; null if there is none.
  const MapInfo* find(uint32_t process, uint64_t address) const;
  bool empty() const { return maps_.empty(); }

 private:
  struct Range {
    uint64_t end;
    const MapInfo* map;
  };
  std::deque<MapInfo> maps_;
  std::map<std::pair<uint32_t, uint64_t>, Range> ranges_;  // By process and first address.
};

}  // namespace luatrace::analyze
