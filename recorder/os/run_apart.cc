// SPDX-License-Identifier: MIT
#include "recorder/os/run_apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "recorder/os/helper.h"
#include "recorder/os/memfd.h"
#include "recorder/os/process.h"
#include "recorder/os/remote.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxBytes = 4096;   // of an answer: one write to a pipe
constexpr int kApartMs = 200;        // for an answer
constexpr int kEndMs = 5;            // for the end of a helper that has answered or was killed
constexpr size_t kMaxGivenUp = 256;  // file systems; beyond that, none that may not answer is asked
constexpr size_t kPage = 4096;
constexpr uint64_t kPresent = 1ull << 63;  // in /proc/PID/pagemap

std::mutex mutex;
std::set<std::string> given_up;  // devices

// Where a page comes from that is not in memory. kMemory: nowhere, or from swap, unless another
// program answers for it (userfaultfd).
enum class Source { kDisk, kMemory, kOthers };

// File systems that wait for another program or machine.
bool waits_for_others(const std::string& type) {
  static const std::set<std::string> types = {
      "nfs",  "nfs4",     "cifs",   "smb3", "smbfs", "9p",       "afs",    "ceph",
      "coda", "virtiofs", "lustre", "gfs2", "ocfs2", "orangefs", "beegfs", "glusterfs"};
  return type.starts_with("fuse") || types.contains(type);
}

// The type of the file system with that device ("0:33"), or of the mount with that number, in a
// table of mounts; empty: it is not there. A line: "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 -
// ext3 /dev/root rw,errors=continue".
std::string type_in_table(pid_t pid, const std::string& wanted) {
  std::istringstream in(read_proc(pid, "mountinfo"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string mount, parent, device;
    words >> mount >> parent >> device;
    const size_t dash = line.find(" - ");
    if (dash == line.npos || (mount != wanted && device != wanted)) continue;
    return line.substr(dash + 3, line.find(' ', dash + 3) - dash - 3);
  }
  return "";
}

// In our own table, too: a container's does not show the file systems below its overlay. Some
// mounts are in no table: those of the kernel's own, and those that were removed (umount -l).
Source source_of(pid_t pid, dev_t device, const std::string& mount) {
  if (major(device) != 0) return Source::kDisk;
  if (device == 0 || device == memfd_device()) return Source::kMemory;
  std::string type = type_in_table(pid, mount);
  if (type.empty()) type = type_in_table(getpid(), mount);
  if (type.empty() || waits_for_others(type)) return Source::kOthers;
  return type == "tmpfs" || type == "hugetlbfs" ? Source::kMemory : Source::kDisk;
}

Source source_of(pid_t pid, const Mapping& m) {
  unsigned major = 0, minor = 0;
  std::sscanf(m.device.c_str(), "%x:%x", &major, &minor);
  return source_of(pid, makedev(major, minor), "0:" + std::to_string(minor));
}

// Does another program answer for pages of that memory, which is not of a file system that waits?
// Such a page is read here without waiting: through this file the kernel does not ask for it.
bool is_held_back(pid_t pid, uint64_t address, size_t size) {
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  bool held = false;
  char c;
  for (uint64_t at = address; fd >= 0 && !held && at < address + size; at += kPage - at % kPage)
    held = pread(fd, &c, 1, static_cast<off_t>(at)) != 1;
  return held;
}

// In the helper: sends a byte, then the job's result.
void work(const std::function<size_t(std::span<std::byte>)>& job, int to) {
  std::array<std::byte, 1 + kMaxBytes> answer{};
  const size_t n = job(std::span(answer).subspan(1));
  if (write(to, answer.data(), n + 1) < 0) _exit(1);
}

}  // namespace

bool is_on_no_disk(const Mapping& m) {
  return m.device.starts_with("00:");
}

bool is_given_up(const Mapping& m) {
  const std::lock_guard lock(mutex);
  return given_up.size() >= kMaxGivenUp || given_up.contains(m.device);
}

void give_up(const Mapping& m) {
  const std::lock_guard lock(mutex);
  if (!m.device.empty()) given_up.insert(m.device);
}

Mapping named_by(pid_t pid) {
  Mapping m;
  m.device = "user " + std::to_string(user_of(pid));
  return m;
}

// A request that is impossible now (too few descriptors, too many processes) may succeed later.
ssize_t run_apart(const Mapping& m, const std::function<size_t(std::span<std::byte>)>& job,
                  std::span<std::byte> out) {
  int ends[2];
  if (is_given_up(m) || pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t pid = start_helper("luatrace-look", {ends[1]}, [&] { work(job, ends[1]); });
  close(ends[1]);
  std::array<std::byte, 1 + kMaxBytes> answer;
  pollfd p{ends[0], POLLIN, 0};
  const int ready = pid > 0 ? poll(&p, 1, kApartMs) : -1;
  const ssize_t n = ready > 0 ? read(ends[0], answer.data(), answer.size()) : 0;
  close(ends[0]);
  if (ready == 0) give_up(m);
  if (pid > 0 && n <= 0) kill(pid, SIGKILL);
  reap_helper(pid, kEndMs);
  if (n <= 0) return -1;
  const size_t size = std::min(static_cast<size_t>(n) - 1, out.size());
  std::copy_n(answer.begin() + 1, size, out.begin());
  return static_cast<ssize_t>(size);
}

bool may_not_answer(pid_t pid, const Mapping& m) {
  return source_of(pid, m) == Source::kOthers;
}

// By its mount, because Btrfs and overlays give their files other devices than the table does.
bool file_may_not_answer(pid_t pid, int file) {
  struct statx st {};
  const std::string info = read_proc(getpid(), ("fdinfo/" + std::to_string(file)).c_str());
  if (statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) != 0) return true;
  const dev_t device = makedev(st.stx_dev_major, st.stx_dev_minor);
  const std::string mount = std::to_string(status_number(info, "mnt_id"));
  return source_of(pid, device, mount) == Source::kOthers;
}

PageMap::PageMap(pid_t pid)
    : fd_(open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)) {}

bool PageMap::are_known() {
  static const bool known = access("/proc/self/pagemap", R_OK) == 0;
  return known;
}

bool PageMap::is_in_memory(uint64_t address, size_t size) const {
  const uint64_t first = address / kPage, end = (address + size + kPage - 1) / kPage;
  std::vector<uint64_t> pages(std::min<uint64_t>(end - first, 1024));
  if (fd_ < 0) return false;
  const size_t bytes = pages.size() * sizeof pages[0];
  const ssize_t n = pread(fd_, pages.data(), bytes, static_cast<off_t>(first * sizeof pages[0]));
  return n == static_cast<ssize_t>(bytes) && pages.size() == end - first &&
         std::all_of(pages.begin(), pages.end(), [](uint64_t p) { return (p & kPresent) != 0; });
}

bool memory_answers(pid_t pid, const Mapping& m, uint64_t address, size_t size) {
  if (!is_on_no_disk(m) || PageMap(pid).is_in_memory(address, size)) return true;
  const Source source = source_of(pid, m);
  if (source == Source::kMemory) return !is_held_back(pid, address, size);
  if (source == Source::kDisk) return true;
  const auto touch = [&](std::span<std::byte>) {
    const RemoteMemory memory(pid);
    char c;
    for (uint64_t at = address; at < address + size; at += kPage) memory.read(at, c);
    memory.read(address + size - 1, c);
    return size_t{0};
  };
  return run_apart(m, touch, {}) >= 0;
}

bool memory_answers(pid_t pid, const std::vector<Mapping>& all, uint64_t address, size_t size) {
  for (const Mapping& m : mappings_from(all, address)) {
    if (size == 0 || m.start > address) break;
    const size_t part = std::min<uint64_t>(size, m.end - address);
    if (!memory_answers(pid, m, address, part)) return false;
    address += part;
    size -= part;
  }
  return size == 0;
}

}  // namespace luatrace::record
