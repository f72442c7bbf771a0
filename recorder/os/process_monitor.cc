// SPDX-License-Identifier: MIT
// The connector is available to all users since Linux 6.6, before to root, and only outside
// containers (in the initial namespaces of processes, users and networks). The kernel puts the
// message into our socket while it creates the process, so messages are in order.
#include "recorder/os/process_monitor.h"

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kLookPause = 50'000'000;  // ns
constexpr int kBuffer = 4 << 20;    // bytes of the socket's buffer: some ten thousand messages
constexpr int kMaxMessages = 4096;  // messages per take()
// PROC_EVENT_*: the type has another name in newer headers.
constexpr uint32_t kNone = 0, kFork = 1, kExec = 2;

constexpr size_t kRequest = NLMSG_LENGTH(sizeof(cn_msg) + sizeof(uint32_t));

bool subscribe(int s) {
  alignas(nlmsghdr) char bytes[NLMSG_ALIGN(kRequest)] = {};
  nlmsghdr n{};
  n.nlmsg_len = kRequest;
  n.nlmsg_type = NLMSG_DONE;
  cn_msg c{};
  c.id.idx = CN_IDX_PROC;
  c.id.val = CN_VAL_PROC;
  c.len = sizeof(uint32_t);
  const uint32_t what = PROC_CN_MCAST_LISTEN;
  std::memcpy(bytes, &n, sizeof n);
  std::memcpy(bytes + NLMSG_HDRLEN, &c, sizeof c);
  std::memcpy(bytes + NLMSG_HDRLEN + sizeof c, &what, sizeof what);
  return send(s, bytes, kRequest, 0) == static_cast<ssize_t>(kRequest);
}

// One message of the kernel; 0 for a message of another sender. -1: none, see errno.
ssize_t receive(int s, char* bytes, size_t size) {
  sockaddr_nl from{};
  socklen_t length = sizeof from;
  const ssize_t n =
      recvfrom(s, bytes, size, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &length);
  const bool kernel = length == sizeof from && from.nl_family == AF_NETLINK && from.nl_pid == 0;
  return n < 0 || kernel ? n : 0;
}

// One message. False if it is invalid.
bool parse(const char* bytes, size_t size, proc_event& e) {
  const size_t start = NLMSG_HDRLEN + sizeof(cn_msg);
  if (size < start + 16) return false;
  e = {};
  std::memcpy(&e, bytes + start, std::min(size - start, sizeof e));
  return true;
}

void append(const proc_event& e, std::vector<ProcessEvent>& events) {
  const auto& fork = e.event_data.fork;
  const auto& exec = e.event_data.exec;
  const auto what = static_cast<uint32_t>(e.what);
  if (what == kFork && fork.child_pid == fork.child_tgid)  // otherwise a thread
    events.push_back({ProcessEvent::kFork, fork.child_tgid, fork.parent_tgid});
  if (what == kExec) events.push_back({ProcessEvent::kExec, exec.process_tgid, 0});
}

}  // namespace

ProcessMonitor::ProcessMonitor()
    : socket_(socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR)) {
  if (socket_ >= 0 && !listen()) socket_ = Descriptor();
  if (!has_kernel_events())
    for (const pid_t pid : all_processes()) known_.insert(pid);
}

// The kernel answers immediately, or not at all if it will never send events.
bool ProcessMonitor::listen() {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = CN_IDX_PROC;
  if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer) != 0)
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
  if (bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      !subscribe(socket_))
    return false;
  char bytes[512];
  for (;;) {  // events before the answer belong to processes found by a scan
    proc_event e;
    const ssize_t n = receive(socket_, bytes, sizeof bytes);
    if (n < 0) return false;
    if (n == 0) continue;
    if (!parse(bytes, static_cast<size_t>(n), e)) return false;
    if (static_cast<uint32_t>(e.what) == kNone) return e.event_data.ack.err == 0;
  }
}

bool ProcessMonitor::take(std::vector<ProcessEvent>& events) {
  bool complete = true;
  char bytes[512];
  has_more_ = false;
  for (int i = 0; has_kernel_events(); i++) {
    if (i == kMaxMessages) {
      has_more_ = true;
      break;
    }
    proc_event e;
    const ssize_t n = receive(socket_, bytes, sizeof bytes);
    if (n < 0 && errno == ENOBUFS) complete = false;
    if (n < 0 && errno != ENOBUFS && errno != EINTR) break;
    if (n > 0 && parse(bytes, static_cast<size_t>(n), e)) append(e, events);
  }
  return complete;
}

std::vector<pid_t> ProcessMonitor::new_processes(uint64_t now, bool urgent) {
  std::vector<pid_t> found;
  if (now < look_due_ns_ && !urgent) return found;
  const auto all = all_processes();
  for (const pid_t pid : all)
    if (!known_.contains(pid)) found.push_back(pid);
  known_ = {all.begin(), all.end()};
  look_due_ns_ = monotonic_ns() + std::max(kLookPause, 50 * (monotonic_ns() - now));
  return found;
}

}  // namespace luatrace::record
