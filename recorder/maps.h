// SPDX-License-Identifier: MIT
// The executable file mappings of a process, as lt_map records with build-ids.
// Invariant: each mapping is reported once, however often one looks.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace luatrace {

struct Mapping {
  uint64_t start = 0, end = 0, offset = 0;
  uint64_t inode = 0;
  std::string device;
  bool executable = false;
  std::string path;  // as the process sees it; empty: anonymous
};

// The text of /proc/PID/maps. Lines that make no sense are left out.
std::vector<Mapping> parse_maps(std::string_view text);

// Opens the file behind a mapping of that process; -1: not possible any more, or no right.
int open_mapping(pid_t pid, const Mapping& m);

// Reads build-ids, each file's once.
class BuildIds {
 public:
  // Of the file behind a mapping of that process; empty: none, or unreadable.
  std::vector<std::byte> of(pid_t pid, const Mapping& m);

 private:
  std::map<std::string, std::vector<std::byte>> known_;  // by device, inode and path
};

class MapsWatcher {
 public:
  // Appends records of executable file mappings that were not there before. Returns their number.
  uint32_t update(pid_t pid, BuildIds& ids, std::vector<std::byte>& out);

 private:
  std::set<std::string> seen_;
};

}  // namespace luatrace
