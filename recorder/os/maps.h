// SPDX-License-Identifier: MIT
// The executable file mappings of a process, as lt_map records with build-ids. Invariant: each
// mapping is reported once, however often they are read.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
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

// Parses /proc/PID/maps. Invalid lines are left out.
std::vector<Mapping> parse_maps(std::string_view text);

// Those of a process; none if they cannot be read.
std::vector<Mapping> mappings_of(pid_t pid);

// The mappings that end after that address, in their order: that of their addresses.
std::span<const Mapping> mappings_from(const std::vector<Mapping>& all, uint64_t address);

// Opens the file of a mapping of that process for reading; -1: no longer possible, or permission
// denied. Only the mapped file is ever opened, and only if it is a regular file: it is checked
// first (O_PATH). These three functions make only system calls.
int open_mapping(pid_t pid, const Mapping& m);

// The same for a process that has ended: by the file's name, if that is still the same file.
int open_former_mapping(const Mapping& m);

// Opens a file for reading if it is a regular one, else -1.
int open_regular(const std::string& path);

// Reads build-ids, each file's once.
class BuildIds {
 public:
  // The build-id of a mapped file of that process; empty: none, or unreadable.
  std::vector<std::byte> of(pid_t pid, const Mapping& m);

 private:
  std::map<std::string, std::vector<std::byte>> known_;  // by device, inode and path
  size_t bytes_ = 0;                                     // of these names
};

class MapsWatcher {
 public:
  // Appends records of new executable file mappings and returns their number. Up to 256 at a time,
  // and no more (but one) when it has taken `limit_ns`: the rest at the next call (see more()).
  // known_bytes: no more when known() has reached it.
  uint32_t update(pid_t pid, BuildIds& ids, std::vector<std::byte>& out,
                  uint64_t limit_ns = 200'000'000, size_t known_bytes = SIZE_MAX);
  bool more() const { return more_; }
  // Bytes of memory for the mappings reported so far; were some not reported because of a limit?
  size_t known() const { return bytes_; }
  bool full() const { return full_; }

 private:
  std::set<std::string> seen_;
  size_t bytes_ = 0;  // of the mappings seen
  bool more_ = false, full_ = false;
};

}  // namespace luatrace::record
