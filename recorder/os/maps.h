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

namespace luatrace::record {

struct Mapping {
  uint64_t start = 0, end = 0, offset = 0;
  uint64_t inode = 0;
  std::string device;
  bool executable = false, writable = false;
  std::string path;  // as the process sees it; empty: anonymous
};

// The text of /proc/PID/maps. Lines that make no sense are left out.
std::vector<Mapping> parse_maps(std::string_view text);

// Opens, for reading, the file behind a mapping of that process; -1: not possible any more, or no
// right. Nothing but a regular file is ever opened, and no other than the one that is mapped: what
// a name leads to is looked at before (O_PATH). These three make nothing but system calls.
int open_mapping(pid_t pid, const Mapping& m);

// The same of a process that has ended: by the file's name, if that is still the same file.
int open_former_mapping(const Mapping& m);

// Opens a file for reading if it is a regular one, else -1.
int open_regular(const std::string& path);

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
  // Not more than some hundred at a time: the rest at the next call (see more()).
  uint32_t update(pid_t pid, BuildIds& ids, std::vector<std::byte>& out);
  bool more() const { return more_; }

 private:
  std::set<std::string> seen_;
  size_t bytes_ = 0;  // of what was seen
  bool more_ = false;
};

}  // namespace luatrace::record
