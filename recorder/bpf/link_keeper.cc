// SPDX-License-Identifier: MIT
#include "recorder/bpf/link_keeper.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "recorder/os/helper.h"
#include "recorder/os/process.h"

namespace luatrace::record::bpf {
namespace {

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

// Descriptors of a link, in the keeper.
struct Link {
  int link = -1, event = -1;
};
Link links[LinkKeeper::kMaxLinks];

template <class T>
uint64_t address_of(const T& object) {
  return reinterpret_cast<uint64_t>(&object);
}

// -errno, or the descriptor.
template <class T>
int create_link(const T& attr) {
  const auto fd = static_cast<int>(syscall(SYS_bpf, kLinkCreate, &attr, sizeof attr));
  return fd < 0 ? -errno : fd;
}

// 0: this kernel has no uprobes for perf events.
uint32_t uprobe_type() {
  std::ifstream in("/sys/bus/event_source/devices/uprobe/type");
  uint32_t type = 0;
  in >> type;
  return type;
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
  enum class Op : uint32_t { kMulti, kEach, kClose };

  uint64_t sequence = 0;
  Op op = Op::kClose;
  int number = 0;     // of the link
  uint32_t type = 0;  // kEach: of the perf event
  pid_t pid = 0;
  Site site = {};
  char path[128] = "";

  int make_multi(Link& l) const {
    const uint64_t offsets[] = {site.offset, site.offset2};
    const uint64_t semaphores[] = {site.semaphore, site.semaphore2};
    const uint64_t cookies[] = {site.cookie, site.cookie};
    MultiLink c{};
    c.program = static_cast<uint32_t>(site.program);
    c.attach_type = kUprobeMulti;
    c.path = address_of(path);
    c.offsets = address_of(offsets);
    c.semaphores = address_of(semaphores);
    c.cookies = address_of(cookies);
    c.count = site.offset2 != 0 ? 2 : 1;
    c.pid = static_cast<uint32_t>(pid);
    return l.link = create_link(c);
  }

  int make_each(Link& l) const {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = type;
    attr.config = site.semaphore << kRefCountShift;
    attr.config1 = address_of(path);
    attr.config2 = site.offset;
    l.event =
        static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (l.event < 0) return -errno;
    const PerfLink c{static_cast<uint32_t>(site.program), static_cast<uint32_t>(l.event),
                     kPerfEvent, 0, site.cookie};
    l.link = create_link(c);
    return l.link >= 0 && ioctl(l.event, PERF_EVENT_IOC_ENABLE, 0) != 0 ? -errno : l.link;
  }

  // In the keeper: -errno, or 0.
  int serve() const {
    Link& l = links[number];
    end_link(l);
    if (op == Op::kClose) return 0;
    const int error = op == Op::kMulti ? make_multi(l) : make_each(l);
    if (error >= 0) return 0;
    end_link(l);
    return error;
  }
};

LinkKeeper::~LinkKeeper() {
  if (pid_ < 0) return;
  socket_ = Descriptor();
  wake();
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
  socket_ = Descriptor(ends[1]);
  pidfd_ = Descriptor(open_pidfd(pid_, -1));
  return 0;
}

// The kernel releases its memory first, then the links, one by one; its pidfd becomes readable only
// after them.
bool LinkKeeper::has_ended() const {
  return pid_ > 0 && process_is_ending(pid_);
}

// In the keeper. At the end it only has to close them: semaphores were attached last.
void LinkKeeper::serve(int socket) {
  use_all_descriptors();  // a link takes two
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

bool LinkKeeper::send_request(Request& request) {
  request.sequence = ++sequence_;
  return socket_ >= 0 && send(socket_, &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

// It may have been stopped.
void LinkKeeper::wake() const {
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, int{pidfd_}, SIGCONT, nullptr, 0);
}

// If the keeper was stopped, it is continued. A late answer to an earlier request is ignored.
int LinkKeeper::call(Request& request) {
  if (!send_request(request)) return -EPIPE;
  for (int i = 0; i < tries_; i++) {
    pollfd p{socket_, POLLIN, 0};
    while (poll(&p, 1, answer_ms_) > 0) {
      Answer answer{};
      if (recv(socket_, &answer, sizeof answer, 0) != sizeof answer) return -EPIPE;
      if (answer.request == request.sequence) return answer.error;
    }
    wake();
  }
  return -ETIMEDOUT;
}

int LinkKeeper::make(Request& request) {
  const auto free = std::find(used_.begin(), used_.end(), false);
  if (free == used_.end() && used_.size() == kMaxLinks) return -EMFILE;
  const auto number = static_cast<size_t>(free - used_.begin());
  if (free == used_.end()) used_.push_back(false);
  request.number = static_cast<int>(number);
  const int error = call(request);
  if (error == 0) return used_[number] = true, request.number;
  if (error != -ETIMEDOUT) return error;
  request.op = Request::Op::kClose;  // it may still be made: close it
  used_[number] = !send_request(request);
  return error;
}

int LinkKeeper::attach(Mechanism mechanism, const std::string& path, const Site& site, pid_t pid) {
  const bool multi = mechanism == Mechanism::kMulti;
  constexpr std::string_view kSelf = "/proc/self";
  std::string full = path;
  if (path.starts_with(kSelf))
    full = "/proc/" + read_link("/proc/self") + path.substr(kSelf.size());
  Request request{.op = multi ? Request::Op::kMulti : Request::Op::kEach,
                  .type = multi ? 0 : uprobe_type(),
                  .pid = pid,
                  .site = site};
  if (!multi && request.type == 0) return -ENOENT;
  if (full.size() >= sizeof request.path) return -EINVAL;
  full.copy(request.path, full.size());
  return make(request);
}

void LinkKeeper::close_link(int number) {
  Request request{.number = number};
  call(request);
  used_[static_cast<size_t>(number)] = false;
}

}  // namespace luatrace::record::bpf
