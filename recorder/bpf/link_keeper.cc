// SPDX-License-Identifier: MIT
// LinkKeeper; see link_keeper.h.
#include "recorder/bpf/link_keeper.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "recorder/os/helper.h"
#include "recorder/os/process.h"

namespace luatrace::record::bpf {
namespace {

constexpr int kAnswerMs = 2000, kTries = 5;  // for an answer, until it is continued; in all
constexpr int kEndMs = 5000;
constexpr uint32_t kUprobeMulti = 48, kPerfEvent = 41;  // attach types
constexpr int kLinkCreate = 28;                         // BPF_LINK_CREATE
constexpr uint32_t kRefCountShift = 32;                 // of the uprobe's config

// union bpf_attr of BPF_LINK_CREATE; the system's <linux/bpf.h> may be older than the kernel.
struct MultiLink {
  uint32_t program, target, attach_type, flags;
  uint64_t path, offsets, semaphores, cookies;
  uint32_t count, multi_flags, pid, pad;
};
struct PerfLink {
  uint32_t program, target, attach_type, flags;
  uint64_t cookie;
};

enum class Op : uint32_t { kMulti, kEach, kClose };

// Descriptors of a link, in the keeper.
struct Link {
  int link = -1, event = -1;
};
Link links[LinkKeeper::kMaxLinks];

int create_link(const void* attr, size_t size) {
  const auto fd = static_cast<int>(syscall(SYS_bpf, kLinkCreate, attr, size));
  return fd < 0 ? -errno : fd;
}

uint32_t uprobe_type() {
  char text[16] = "";
  const int fd = open("/sys/bus/event_source/devices/uprobe/type", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  return n > 0 ? static_cast<uint32_t>(std::atoi(text)) : 0;
}

// A link takes up to two, and our caller's limit is often 1,024.
void allow_all_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void end_link(Link& l) {
  if (l.event >= 0) ioctl(l.event, PERF_EVENT_IOC_DISABLE, 0);
  if (l.link >= 0) close(l.link);
  if (l.event >= 0) close(l.event);
  l = {};
}

}  // namespace

struct LinkKeeper::Answer {
  uint64_t request;  // its sequence
  int error;         // -errno, or 0
};

struct LinkKeeper::Request {
  uint64_t sequence;
  Op op;
  int number;     // of the link
  uint32_t type;  // kEach: of the perf event
  pid_t pid;
  size_t count;
  Site sites[kMaxSites];
  char path[128];

  int make_multi(Link& l) const {
    uint64_t offsets[kMaxSites], semaphores[kMaxSites], cookies[kMaxSites];
    for (size_t i = 0; i < count; i++) {
      offsets[i] = sites[i].offset;
      semaphores[i] = sites[i].semaphore;
      cookies[i] = sites[i].cookie;
    }
    MultiLink c{};
    c.program = static_cast<uint32_t>(sites[0].program);
    c.attach_type = kUprobeMulti;
    c.path = reinterpret_cast<uint64_t>(path);
    c.offsets = reinterpret_cast<uint64_t>(offsets);
    c.semaphores = reinterpret_cast<uint64_t>(semaphores);
    c.cookies = reinterpret_cast<uint64_t>(cookies);
    c.count = static_cast<uint32_t>(count);
    c.pid = static_cast<uint32_t>(pid);
    return l.link = create_link(&c, sizeof c);
  }

  int make_each(Link& l) const {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = type;
    attr.config = sites[0].semaphore << kRefCountShift;
    attr.config1 = reinterpret_cast<uint64_t>(path);
    attr.config2 = sites[0].offset;
    l.event =
        static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (l.event < 0) return -errno;
    const PerfLink c{static_cast<uint32_t>(sites[0].program), static_cast<uint32_t>(l.event),
                     kPerfEvent, 0, sites[0].cookie};
    l.link = create_link(&c, sizeof c);
    if (l.link >= 0 && ioctl(l.event, PERF_EVENT_IOC_ENABLE, 0) != 0) {
      const int error = errno;
      end_link(l);
      return -error;
    }
    return l.link;
  }

  // In the keeper: -errno, or 0.
  int serve() const {
    Link& l = links[number];
    end_link(l);
    if (op == Op::kClose) return 0;
    const int error = op == Op::kMulti ? make_multi(l) : make_each(l);
    if (error >= 0) return 0;
    l.link = -1;
    end_link(l);
    return error;
  }
};

LinkKeeper::~LinkKeeper() {
  if (pid_ < 0) return;
  close(socket_);
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, SIGCONT, nullptr, 0);
  if (pidfd_ >= 0) close(pidfd_);
  reap_helper(pid_, kEndMs);
}

int LinkKeeper::start(const std::vector<int>& programs) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  std::vector<int> kept = programs;
  kept.push_back(ends[0]);
  pid_ = start_helper("luatrace-guard", kept, [&] { serve(ends[0]); });
  const int error = errno;
  close(ends[0]);
  if (pid_ < 0) return close(ends[1]), error;
  socket_ = ends[1];
  pidfd_ = open_pidfd(pid_, -1);
  return 0;
}

// The kernel releases its memory first, then the links, one by one; its pidfd becomes readable only
// after them.
bool LinkKeeper::has_ended() const {
  return pid_ > 0 && process_is_ending(pid_);
}

// In the keeper. At the end it only has to close them: semaphores were attached last.
void LinkKeeper::serve(int socket) {
  allow_all_descriptors();
  static Request request;
  for (;;) {
    const ssize_t n = recv(socket, &request, sizeof request, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof request) break;
    const Answer answer{request.sequence, request.serve()};
    send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
  }
  for (size_t i = kMaxLinks; i-- > 0;) end_link(links[i]);
}

bool LinkKeeper::tell(Request& request) {
  request.sequence = ++sequence_;
  return socket_ >= 0 && send(socket_, &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

// If the keeper was stopped, it is continued. A late answer to an earlier request is ignored.
int LinkKeeper::ask(Request& request) {
  if (!tell(request)) return -EPIPE;
  for (int i = 0; i < kTries; i++) {
    pollfd p{socket_, POLLIN, 0};
    while (poll(&p, 1, kAnswerMs) > 0) {
      Answer answer{};
      if (recv(socket_, &answer, sizeof answer, 0) != sizeof answer) return -EPIPE;
      if (answer.request == request.sequence) return answer.error;
    }
    if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, SIGCONT, nullptr, 0);
  }
  return -ETIMEDOUT;
}

int LinkKeeper::make(Request& request) {
  const auto free = std::find(used_.begin(), used_.end(), false);
  if (free == used_.end() && used_.size() == kMaxLinks) return -EMFILE;
  const auto number = static_cast<size_t>(free - used_.begin());
  if (free == used_.end()) used_.push_back(false);
  request.number = static_cast<int>(number);
  const int error = ask(request);
  if (error == 0) return used_[number] = true, request.number;
  if (error != -ETIMEDOUT) return error;
  request.op = Op::kClose;  // it may still be made
  used_[number] = !tell(request);
  return error;
}

int LinkKeeper::attach(Request& request, const std::string& path, std::span<const Site> sites,
                       pid_t pid) {
  constexpr std::string_view kSelf = "/proc/self";
  std::string full = path;
  if (path.starts_with(kSelf))
    full = "/proc/" + read_link("/proc/self") + path.substr(kSelf.size());
  if (full.size() >= sizeof request.path || sites.size() > kMaxSites || sites.empty())
    return -EINVAL;
  std::memcpy(request.path, full.c_str(), full.size());
  std::copy(sites.begin(), sites.end(), request.sites);
  request.count = sites.size();
  request.pid = pid;
  return make(request);
}

int LinkKeeper::attach_multi(const std::string& path, std::span<const Site> sites, pid_t pid) {
  Request request{};
  request.op = Op::kMulti;
  return attach(request, path, sites, pid);
}

int LinkKeeper::attach_each(const std::string& path, const Site& site, pid_t pid) {
  Request request{};
  request.op = Op::kEach;
  request.type = uprobe_type();
  if (request.type == 0) return -ENOENT;
  return attach(request, path, {&site, 1}, pid);
}

void LinkKeeper::close_link(int number) {
  Request request{};
  request.op = Op::kClose;
  request.number = number;
  ask(request);
  used_[static_cast<size_t>(number)] = false;
}

}  // namespace luatrace::record::bpf
