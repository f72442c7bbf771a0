// SPDX-License-Identifier: MIT
// Reads files that may never answer; see run_apart.h.
#include "recorder/os/run_apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "recorder/os/helper.h"
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

// File systems that wait for another program or machine.
bool waits_for_others(const std::string& type) {
  static const std::set<std::string> types = {
      "nfs",  "nfs4",     "cifs",   "smb3", "smbfs", "9p",       "afs",    "ceph",
      "coda", "virtiofs", "lustre", "gfs2", "ocfs2", "orangefs", "beegfs", "glusterfs"};
  return type.starts_with("fuse") || types.contains(type);
}

bool is_on_no_disk(const Mapping& m) {
  return m.device.starts_with("00:");
}

// In the helper: sends a byte, then the job's result.
void work(const std::function<size_t(std::span<std::byte>)>& job, int to) {
  std::array<std::byte, 1 + kMaxBytes> answer{};
  const size_t n = job(std::span(answer).subspan(1));
  if (write(to, answer.data(), n + 1) < 0) _exit(1);
}

bool is_present(pid_t pid, uint64_t address, size_t size) {
  const std::string path = "/proc/" + std::to_string(pid) + "/pagemap";
  const uint64_t first = address / kPage, end = (address + size + kPage - 1) / kPage;
  std::vector<uint64_t> pages(std::min<uint64_t>(end - first, 1024));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const size_t bytes = pages.size() * sizeof pages[0];
  const ssize_t n = pread(fd, pages.data(), bytes, static_cast<off_t>(first * sizeof pages[0]));
  close(fd);
  return n == static_cast<ssize_t>(bytes) && pages.size() == end - first &&
         std::all_of(pages.begin(), pages.end(), [](uint64_t p) { return (p & kPresent) != 0; });
}

}  // namespace

bool is_given_up(const Mapping& m) {
  const std::lock_guard lock(mutex);
  return given_up.size() >= kMaxGivenUp || given_up.contains(m.device);
}

void give_up(const Mapping& m) {
  const std::lock_guard lock(mutex);
  if (!m.device.empty()) given_up.insert(m.device);
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
  const int heard = pid > 0 ? poll(&p, 1, kApartMs) : -1;
  const ssize_t n = heard > 0 ? read(ends[0], answer.data(), answer.size()) : 0;
  close(ends[0]);
  if (heard == 0) give_up(m);
  if (pid > 0 && n <= 0) kill(pid, SIGKILL);
  reap_helper(pid, kEndMs);
  if (n <= 0) return -1;
  const size_t size = std::min(static_cast<size_t>(n) - 1, out.size());
  std::copy_n(answer.begin() + 1, size, out.begin());
  return static_cast<ssize_t>(size);
}

// A line: "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue".
bool may_not_answer(pid_t pid, const Mapping& m) {
  if (!is_on_no_disk(m)) return false;
  const std::string device = "0:" + std::to_string(std::stoul(m.device.substr(3), nullptr, 16));
  std::istringstream in(read_proc(pid, "mountinfo"));
  for (std::string line; std::getline(in, line);) {
    const size_t dash = line.find(" - ");
    if (dash == line.npos || line.find(" " + device + " ") > dash) continue;
    return waits_for_others(line.substr(dash + 3, line.find(' ', dash + 3) - dash - 3));
  }
  return false;
}

bool memory_answers(pid_t pid, const Mapping& m, uint64_t address, size_t size) {
  if (!is_on_no_disk(m) || is_present(pid, address, size) || !may_not_answer(pid, m)) return true;
  const auto touch = [&](std::span<std::byte>) {
    const RemoteMemory memory(pid);
    char c;
    for (uint64_t at = address; at < address + size; at += kPage) memory.read(at, c);
    memory.read(address + size - 1, c);
    return size_t{0};
  };
  return run_apart(m, touch, {}) >= 0;
}

}  // namespace luatrace::record
