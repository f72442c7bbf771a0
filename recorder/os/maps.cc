// SPDX-License-Identifier: MIT
// The file is opened as the process sees it: through /proc/PID/map_files, which is the mapped file
// itself, deleted or not, or through /proc/PID/root, which needs less privilege; then it must still
// be the same file. The functions that open files make only system calls, because they also run
// where nothing else is allowed (file_apart.h).
#include "recorder/os/maps.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <span>

#include "recorder/os/clock.h"
#include "recorder/os/elf_file.h"
#include "recorder/os/file_apart.h"
#include "recorder/os/process.h"
#include "recorder/os/run_apart.h"
#include "trace/descriptor.h"
#include "trace/records.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxMappings = 65536;
constexpr size_t kMaxText = 8u << 20;  // of /proc/PID/maps
// Of reported mappings, and of files whose build-id is known.
constexpr size_t kMaxSeenBytes = 16u << 20;
constexpr size_t kSeenNode = 96;        // bytes of an entry beside its text
constexpr uint32_t kMaxReported = 256;  // reported at a time

// The kernel writes a newline in a path as \012, and nothing else in this form.
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

// The attributes of an O_PATH descriptor. The file system is not asked again (a hostile one need
// not answer). False if it is not a regular file.
bool look_at_regular(int look, struct statx& st) {
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO;
  return statx(look, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &st) == 0 &&
         S_ISREG(st.stx_mode);
}

int reopen(int look) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", look);
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// Makes only system calls.
bool is_device(const Mapping& m, uint64_t major, uint64_t minor) {
  char text[40];
  std::snprintf(text, sizeof text, "%02" PRIx64 ":%02" PRIx64, major, minor);
  return m.device == text;
}

// The line of our own mapping that begins there, and all after it; null: not found. The kernel
// returns whole lines, up to that size.
const char* find_own_mapping(const void* start, std::span<char> text) {
  char wanted[24];
  std::snprintf(wanted, sizeof wanted, "%" PRIxPTR "-", reinterpret_cast<uintptr_t>(start));
  const Descriptor fd(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const char* found = nullptr;
  for (ssize_t n; found == nullptr && (n = read(fd, text.data(), text.size() - 1)) > 0;) {
    text[static_cast<size_t>(n)] = 0;
    const char* line = text.data();
    while (line != nullptr && std::strncmp(line, wanted, std::strlen(wanted)) != 0) {
      line = std::strchr(line, '\n');
      if (line != nullptr) line++;
    }
    found = line;
  }
  return found;
}

// Would a mapping of that file be shown like m? Btrfs and overlays show other device numbers there
// than stat(2), so it is tried.
bool maps_like(int fd, const Mapping& m) {
  std::array<char, 16384> text;
  char device[24] = "";
  uint64_t inode = 0;
  void* const p = mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) return false;
  const char* const line = find_own_mapping(p, text);
  munmap(p, 1);
  return line != nullptr && std::sscanf(line, "%*s %*s %*s %23s %" SCNu64, device, &inode) == 2 &&
         inode == m.inode && m.device == device;
}

// look: a descriptor of O_PATH, or -1. m: the required mapping, if that still matters.
int open_looked_at(const Descriptor& look, const Mapping* m) {
  struct statx st {};
  if (look < 0 || !look_at_regular(look, st)) return -1;
  if (m == nullptr) return reopen(look);
  if (st.stx_ino != m->inode) return -1;
  Descriptor fd(reopen(look));
  const bool same =
      fd >= 0 && (is_device(*m, st.stx_dev_major, st.stx_dev_minor) || maps_like(fd, *m));
  return same ? fd.release() : -1;
}

// The kernel writes paths without links, so none is followed.
Descriptor look_in_root(pid_t pid, const char* path) {
  char root[32];
  std::snprintf(root, sizeof root, "/proc/%d/root", pid);
  const Descriptor dir(open(root, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (dir < 0) return Descriptor();
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
  auto fd = static_cast<int>(syscall(SYS_openat2, static_cast<int>(dir), path, &how, sizeof how));
  if (fd < 0 && errno == ENOSYS)  // Linux 5.5
    fd = openat(dir, path + std::strspn(path, "/"), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  return Descriptor(fd);
}

// Only then is a mapped file looked for by its name: the name of one that was unmapped, or of a
// device, may lead to a file system that does not answer. Some systems (gVisor) have no map_files.
bool lacks_map_files(pid_t pid, int error) {
  char path[48];
  struct stat st {};
  if (error == EPERM || error == EACCES) return true;
  std::snprintf(path, sizeof path, "/proc/%d/map_files", pid);
  return stat("/proc/self", &st) == 0 && stat(path, &st) != 0;
}

Descriptor look_at_path(const char* path, int flags) {
  return Descriptor(open(path, O_PATH | O_CLOEXEC | flags));
}

}  // namespace

int open_regular(const std::string& path) {
  return open_looked_at(look_at_path(path.c_str(), 0), nullptr);
}

int open_mapping(pid_t pid, const Mapping& m) {
  char path[96];  // the file itself
  std::snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m.start, m.end);
  const Descriptor look = look_at_path(path, 0);
  if (look >= 0 || !lacks_map_files(pid, errno)) return open_looked_at(look, nullptr);
  return open_looked_at(look_in_root(pid, m.path.c_str()), &m);
}

int open_former_mapping(const Mapping& m) {
  return open_looked_at(look_at_path(m.path.c_str(), O_NOFOLLOW), &m);
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

std::vector<Mapping> mappings_of(pid_t pid) {
  return parse_maps(read_proc(pid, "maps", kMaxText));
}

std::span<const Mapping> mappings_from(const std::vector<Mapping>& all, uint64_t address) {
  const auto first = std::upper_bound(all.begin(), all.end(), address,
                                      [](uint64_t a, const Mapping& m) { return a < m.end; });
  return {first, all.end()};
}

std::vector<std::byte> BuildIds::of(pid_t pid, const Mapping& m) {
  const std::string key = m.device + ":" + std::to_string(m.inode) + ":" + m.path;
  const auto it = known_.find(key);
  if (it != known_.end()) return it->second;
  std::vector<std::byte> id;
  if (may_not_answer(pid, m)) {
    FileApart file(m, [&] { return open_mapping(pid, m); });
    if (file.is_open()) id = read_build_id(file.reader());
    if (!file.answers()) return {};
  } else {
    const Descriptor fd(open_mapping(pid, m));
    if (fd < 0) return {};
    id = read_build_id(reader_of(fd));
  }
  if (known_.size() >= kMaxMappings || bytes_ + key.size() > kMaxSeenBytes) {
    known_.clear();
    bytes_ = 0;
  }
  bytes_ += key.size();
  return known_.emplace(key, std::move(id)).first->second;
}

uint32_t MapsWatcher::update(pid_t pid, BuildIds& ids, std::vector<std::byte>& out,
                             uint64_t limit_ns, size_t known_bytes) {
  const uint64_t end_ns = monotonic_ns() + limit_ns;
  uint32_t count = 0;
  more_ = full_ = false;
  for (const auto& m : mappings_of(pid)) {
    if (!m.executable || m.path.empty() || m.path[0] != '/') continue;
    const std::string key = std::to_string(m.start) + "-" + std::to_string(m.end) + "+" +
                            std::to_string(m.offset) + ":" + std::to_string(m.inode) + m.path;
    if (seen_.contains(key)) continue;
    if (seen_.size() >= kMaxMappings || bytes_ >= std::min(kMaxSeenBytes, known_bytes)) {
      full_ = true;
      break;
    }
    if (count == kMaxReported || (count > 0 && monotonic_ns() >= end_ns)) {
      more_ = true;
      break;
    }
    seen_.insert(key);
    bytes_ += key.size() + kSeenNode;
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
