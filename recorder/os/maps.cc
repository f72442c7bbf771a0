// SPDX-License-Identifier: MIT
// Memory maps and build-ids; see maps.h. The file is opened the way the process sees it: through
// /proc/PID/map_files, which is the mapped file itself, deleted or not, or through /proc/PID/root,
// which needs less privilege; then it must be the same file still.
#include "recorder/os/maps.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "recorder/os/elf_file.h"
#include "recorder/os/process.h"
#include "recorder/os/run_apart.h"
#include "trace/records.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxMappings = 65536;
constexpr size_t kMaxSeenBytes = 16u << 20;  // of mappings that were reported
constexpr size_t kMaxBuildId = 32;           // see read_build_id()
constexpr uint32_t kMaxAtOnce = 256;         // that are reported at a time

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
  m.writable = perms[1] == 'w';
  m.path = unescape(std::string_view(line).substr(static_cast<size_t>(path_at)));
  return m.end > m.start;
}

// What a descriptor of O_PATH means. The file system is not asked again (a hostile one need not
// answer). False if it is not a regular file.
bool look_at_regular(int look, struct statx& st) {
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO;
  return statx(look, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &st) == 0 &&
         S_ISREG(st.stx_mode);
}

int reopen(int look) {
  const std::string path = "/proc/self/fd/" + std::to_string(look);
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

std::string device_text(uint64_t major, uint64_t minor) {
  char text[24];
  std::snprintf(text, sizeof text, "%02" PRIx64 ":%02" PRIx64, major, minor);
  return text;
}

// Would a mapping of that file be shown like m? Btrfs and overlays show other device numbers there
// than stat(2) does, so it is tried.
bool maps_like(int fd, const Mapping& m) {
  void* const p = mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) return false;
  bool same = false;
  for (const Mapping& own : parse_maps(read_proc(getpid(), "maps", 8u << 20)))
    if (own.start == reinterpret_cast<uint64_t>(p))
      same = own.inode == m.inode && own.device == m.device;
  munmap(p, 1);
  return same;
}

// look: a descriptor of O_PATH, or -1; closed. m: what it must be, if that is still open.
int open_looked_at(int look, const Mapping* m) {
  struct statx st {};
  int fd = -1;
  if (look < 0) return -1;
  if (look_at_regular(look, st) && (m == nullptr || st.stx_ino == m->inode)) fd = reopen(look);
  close(look);
  if (fd >= 0 && m != nullptr && device_text(st.stx_dev_major, st.stx_dev_minor) != m->device &&
      !maps_like(fd, *m)) {
    close(fd);
    fd = -1;
  }
  return fd;
}

// The kernel writes paths without links, so none is followed.
int look_in_root(pid_t pid, const std::string& path) {
  const std::string root = "/proc/" + std::to_string(pid) + "/root";
  const int dir = open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return -1;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
  auto fd = static_cast<int>(syscall(SYS_openat2, dir, path.c_str(), &how, sizeof how));
  if (fd < 0 && errno == ENOSYS)  // Linux 5.5
    fd = open((root + path).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  close(dir);
  return fd;
}

}  // namespace

int open_regular(const std::string& path) {
  return open_looked_at(open(path.c_str(), O_PATH | O_CLOEXEC), nullptr);
}

int open_mapping(pid_t pid, const Mapping& m) {
  char range[64];
  std::snprintf(range, sizeof range, "%" PRIx64 "-%" PRIx64, m.start, m.end);
  const int fd =
      open_regular("/proc/" + std::to_string(pid) + "/map_files/" + range);  // the file itself
  return fd >= 0 ? fd : open_looked_at(look_in_root(pid, m.path), &m);
}

int open_former_mapping(const Mapping& m) {
  return open_looked_at(open(m.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC), &m);
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

namespace {

size_t read_id(pid_t pid, const Mapping& m, std::span<std::byte> to) {
  const int fd = open_mapping(pid, m);
  const auto id = fd < 0 ? std::vector<std::byte>() : read_build_id(fd);
  return static_cast<size_t>(std::copy(id.begin(), id.end(), to.begin()) - to.begin());
}

}  // namespace

std::vector<std::byte> BuildIds::of(pid_t pid, const Mapping& m) {
  const std::string key = m.device + ":" + std::to_string(m.inode) + ":" + m.path;
  const auto it = known_.find(key);
  if (it != known_.end()) return it->second;
  std::vector<std::byte> id;
  if (may_not_answer(pid, m)) {
    id.resize(kMaxBuildId);
    const ssize_t n = run_apart(
        m, [&](auto to) { return read_id(pid, m, to); }, id);
    if (n < 0) return {};
    id.resize(static_cast<size_t>(n));
  } else {
    const int fd = open_mapping(pid, m);
    if (fd < 0) return {};
    id = read_build_id(fd);
    close(fd);
  }
  if (known_.size() >= kMaxMappings) known_.clear();
  return known_.emplace(key, std::move(id)).first->second;
}

uint32_t MapsWatcher::update(pid_t pid, BuildIds& ids, std::vector<std::byte>& out) {
  uint32_t count = 0;
  more_ = false;
  for (const auto& m : parse_maps(read_proc(pid, "maps", 8u << 20))) {
    if (!m.executable || m.path.empty() || m.path[0] != '/' || seen_.size() >= kMaxMappings ||
        bytes_ >= kMaxSeenBytes)
      continue;
    const std::string key = std::to_string(m.start) + "-" + std::to_string(m.end) + "+" +
                            std::to_string(m.offset) + ":" + std::to_string(m.inode) + m.path;
    if (seen_.contains(key)) continue;
    if (count == kMaxAtOnce) {
      more_ = true;
      break;
    }
    seen_.insert(key);
    bytes_ += key.size();
    lt_map record{};
    record.start = m.start;
    record.end = m.end;
    record.offset = m.offset;
    append_map(out, record, ids.of(pid, m), m.path);
    count++;
  }
  return count;
}

}  // namespace luatrace::record
