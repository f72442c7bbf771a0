// SPDX-License-Identifier: MIT
// First through /proc/PID/map_files: that is the file into which the VM writes, whatever the
// program has done with its descriptors. That takes a capability (CAP_SYS_ADMIN or
// CAP_CHECKPOINT_RESTORE, in the initial user namespace); without it through /proc/PID/fd, by the
// descriptor that the VM keeps until the ring is taken.
#include "recorder/direct/open_ring.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "recorder/os/memfd.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "trace/descriptor.h"

namespace luatrace::record::direct {
namespace {

// The same file, and one that can be opened without side effects.
bool is_mapped_memory(int fd, const Mapping& m) {
  struct stat st {};
  return is_memfd(fd) && fstat(fd, &st) == 0 && st.st_ino == m.inode;
}

// -1: not that file (EBADF), or permission denied; see errno.
int open_same(const std::string& path, const Mapping& m) {
  const Descriptor look(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (look < 0) return -1;
  if (!is_mapped_memory(look, m)) return errno = EBADF, -1;
  return open(("/proc/self/fd/" + std::to_string(look)).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

int open_memory(pid_t pid, const vm::State& s, const Mapping& m) {
  const std::string proc = "/proc/" + std::to_string(pid);
  char range[64];
  std::snprintf(range, sizeof range, "/map_files/%" PRIx64 "-%" PRIx64, m.start, m.end);
  const int fd = open_same(proc + range, m);
  return fd >= 0 || s.fd < 0 ? fd : open_same(proc + "/fd/" + std::to_string(s.fd), m);
}

// A child has its parent's ring until it has noticed that it is one; and the VM may have closed its
// ring, or another may be in its place.
bool is_of(const RingMemory& ring, const vm::Target& target, const vm::State& s) {
  const pid_t pid = target.memory().pid();
  const auto g = static_cast<uint64_t>(static_cast<int64_t>(target.image().note.g));
  vm::State now;
  return ring.info().pid == pid_inside(pid) && ring.info().state_addr == s.address + g &&
         ring.info().recording == s.rec && target.read_state(s.address, now) &&
         now.ring == s.ring && now.rec == s.rec && now.serial == s.serial && now.token == s.token;
}

}  // namespace

bool RingMaps::find(pid_t pid, uint64_t address, Mapping& found) {
  const auto begins_there = [&](const Mapping& m) { return m.start == address; };
  auto at = std::find_if(maps_.begin(), maps_.end(), begins_there);
  if (at == maps_.end()) {
    maps_ = mappings_of(pid);
    at = std::find_if(maps_.begin(), maps_.end(), begins_there);
  }
  if (at == maps_.end()) return false;
  found = *at;
  return found.path == "/memfd:" LT_RING_NAME " (deleted)";
}

std::unique_ptr<RingMemory> open_ring(const vm::Target& target, const vm::State& s, RingMaps& maps,
                                      std::string& why) {
  const pid_t pid = target.memory().pid();
  Mapping m;
  if (!maps.find(pid, s.ring, m)) return nullptr;
  const int fd = open_memory(pid, s, m);
  if (fd < 0) {
    if (errno != ENOENT && errno != EPERM) why = "its ring cannot be opened: " + errno_text(errno);
    return nullptr;
  }
  auto ring = RingMemory::map(fd, &why);
  if (ring != nullptr && !is_of(*ring, target, s)) return nullptr;
  return ring;
}

}  // namespace luatrace::record::direct
