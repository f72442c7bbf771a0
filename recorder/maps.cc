// SPDX-License-Identifier: MIT
// Memory maps and build-ids; see maps.h. The file is opened the way the process sees it: through
// /proc/PID/map_files, which works for deleted files, or through /proc/PID/root, which needs less
// privilege; then it must be the same file still.
#include "recorder/maps.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "recorder/process.h"
#include "trace/records.h"

namespace luatrace {
namespace {

constexpr size_t kMaxMappings = 65536;

// The kernel writes a newline in a path as \012, and nothing else that way.
std::string unescape(std::string_view path) {
  std::string out(path);
  for (size_t at = 0; (at = out.find("\\012", at)) != out.npos; at++) out.replace(at, 4, "\n");
  return out;
}

bool parse_line(const std::string& line, Mapping& m) {
  char perms[8], device[24];
  int path_at = 0;
  const int n =
      std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %23s %" SCNu64 " %n",
                  &m.start, &m.end, perms, &m.offset, device, &m.inode, &path_at);
  if (n < 6 || path_at == 0) return false;
  m.device = device;
  m.executable = perms[2] == 'x';
  m.path = unescape(std::string_view(line).substr(static_cast<size_t>(path_at)));
  return m.end > m.start;
}

int open_regular(const std::string& path, uint64_t inode) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st {};
  if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode)) return fd;
  close(fd);
  return -1;
}

std::vector<std::byte> read_build_id(int fd) {
  static const bool usable = elf_version(EV_CURRENT) != EV_NONE;
  std::vector<std::byte> id;
  Elf* const elf = usable ? elf_begin(fd, ELF_C_READ, nullptr) : nullptr;
  const void* bytes = nullptr;
  const ssize_t n = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;
  const auto* p = static_cast<const std::byte*>(bytes);
  if (n > 0 && n <= 32) id.assign(p, p + n);
  if (elf != nullptr) elf_end(elf);
  return id;
}

}  // namespace

int open_mapping(pid_t pid, const Mapping& m) {
  char range[64];
  std::snprintf(range, sizeof range, "%" PRIx64 "-%" PRIx64, m.start, m.end);
  const std::string proc = "/proc/" + std::to_string(pid);
  const int fd = open_regular(proc + "/map_files/" + range, m.inode);
  return fd >= 0 ? fd : open_regular(proc + "/root" + m.path, m.inode);
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> all;
  while (!text.empty() && all.size() < kMaxMappings) {
    const size_t end = text.find('\n');
    Mapping m;
    if (parse_line(std::string(text.substr(0, end)), m)) all.push_back(std::move(m));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return all;
}

std::vector<std::byte> BuildIds::of(pid_t pid, const Mapping& m) {
  const std::string key = m.device + ":" + std::to_string(m.inode) + ":" + m.path;
  const auto it = known_.find(key);
  if (it != known_.end()) return it->second;
  const int fd = open_mapping(pid, m);
  if (fd < 0) return {};
  auto id = read_build_id(fd);
  close(fd);
  return known_.emplace(key, std::move(id)).first->second;
}

uint32_t MapsWatcher::update(pid_t pid, BuildIds& ids, std::vector<std::byte>& out) {
  uint32_t count = 0;
  for (const auto& m : parse_maps(read_proc(pid, "maps", 8u << 20))) {
    if (!m.executable || m.path.empty() || m.path[0] != '/' || seen_.size() >= kMaxMappings)
      continue;
    const std::string key = std::to_string(m.start) + "-" + std::to_string(m.end) + "+" +
                            std::to_string(m.offset) + ":" + std::to_string(m.inode) + m.path;
    if (!seen_.insert(key).second) continue;
    lt_map record{};
    record.start = m.start;
    record.end = m.end;
    record.offset = m.offset;
    append_map(out, record, ids.of(pid, m), m.path);
    count++;
  }
  return count;
}

}  // namespace luatrace
