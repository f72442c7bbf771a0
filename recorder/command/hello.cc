// SPDX-License-Identifier: MIT
#include "recorder/command/hello.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "recorder/os/memfd.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr int kDescriptors = 2;  // of a reported hello: the connection and the ring

// A message with space for some descriptors; the kernel drops others.
struct Message {
  alignas(cmsghdr) char control[CMSG_LEN(kDescriptors * sizeof(int))] = {};
  iovec part;
  msghdr header{};

  Message(void* data, size_t size, size_t descriptors) : part{data, size} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (descriptors > 0) header.msg_control = control;
    if (descriptors > 0) header.msg_controllen = CMSG_LEN(descriptors * sizeof(int));
  }
  bool is_cut() const { return (header.msg_flags & MSG_CTRUNC) != 0; }

  void put(const int* fds, size_t n) {
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(n * sizeof(int));
    std::memcpy(CMSG_DATA(c), fds, n * sizeof(int));
  }
  // Those that came. Returns how many.
  size_t take(int* fds) {
    const cmsghdr* const c = CMSG_FIRSTHDR(&header);
    if (c == nullptr || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) return 0;
    const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(fds, CMSG_DATA(c), n * sizeof(int));
    return n;
  }
};

const char* const kNoMemory =
    "it sent no memory: it has too few file descriptors or too little memory left for a ring, or "
    "its limit of file sizes (ulimit -f) is below that of a ring";

}  // namespace

bool answer_hello(Hello& hello, char answer) {
  const bool sent = send(hello.socket, &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
  close(hello.socket);
  hello.socket = -1;
  return sent;
}

// A message may be empty; but each has credentials, and there is no space for those.
bool is_empty(int connection) {
  const int on = 1;
  char byte;
  Message m(&byte, 1, 0);
  if (setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return false;
  return recvmsg(connection, &m.header, MSG_PEEK | MSG_DONTWAIT) == 0 && !m.is_cut();
}

// There is no space for a descriptor, so this opens none.
int peek_hello(int connection, std::string& why) {
  lt_hello hello{};
  Message m(&hello, sizeof hello, 0);
  const ssize_t n = recvmsg(connection, &m.header, MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n == 0)
    why =
        "it sent nothing and disconnected (a program accepts root and its own user; root's "
        "programs only root)";
  else if (n != sizeof hello || hello.magic != LT_HELLO_MAGIC)
    why = "it did not send a hello";
  else if (hello.version != LT_RING_VERSION)
    why = "it speaks version " + std::to_string(hello.version) + ", this recorder version " +
          std::to_string(LT_RING_VERSION);
  else if (!m.is_cut())
    why = kNoMemory;
  return why.empty() ? 1 : -1;
}

bool send_report(int to, const Report& report) {
  const int fds[] = {report.hello.socket, report.hello.ring_fd};
  const size_t n = report.kind == Report::Kind::kHello ? kDescriptors : 0;
  Message m(const_cast<Report*>(&report), sizeof report, n);
  if (n > 0) m.put(fds, n);
  return sendmsg(to, &m.header, MSG_NOSIGNAL) == sizeof report;
}

bool send_report(int to, Report::Kind kind, const std::string& text) {
  Report report;
  report.kind = kind;
  text.copy(report.text, sizeof report.text - 1);
  return send_report(to, report);
}

int receive_report(int from, Report& report, int flags) {
  int fds[kDescriptors] = {-1, -1};
  Message m(&report, sizeof report, kDescriptors);
  const ssize_t n = recvmsg(from, &m.header, flags | MSG_CMSG_CLOEXEC);
  if (n < 0) return -1;
  if (n != sizeof report) return 0;
  if (m.take(fds) == 1) close(std::exchange(fds[0], -1));
  report.hello.socket = fds[0];
  report.hello.ring_fd = fds[1];
  return 1;
}

std::string refusal_of(pid_t pid, const std::string& why) {
  return "process " + std::to_string(pid) + " was refused: " + why;
}

// Only one descriptor is received: when the kernel drops the others it does not ask for FLUSH.
void receive_hello(int connection, pid_t pid, uid_t uid, int to) {
  Report report;
  report.kind = Report::Kind::kHello;
  Hello& hello = report.hello;
  hello = {pid, uid, {}, -1, connection};
  Message m(&hello.text, sizeof hello.text, 1);
  const ssize_t n = recvmsg(connection, &m.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  shutdown(connection, SHUT_RD);
  std::string why;
  if (n != sizeof hello.text || m.take(&hello.ring_fd) != 1)
    why = n == sizeof hello.text && m.is_cut() ? kTooFew : kNoMemory;
  else if (!is_memfd(hello.ring_fd))
    why = "its ring is not usable: it is not a memfd";
  else if (!is_empty(connection))
    why = "it sent more than a hello";
  else if (!send_report(to, report))
    why = "it could not be passed on: " + errno_text(errno);
  if (!why.empty()) send_report(to, Report::Kind::kRefused, refusal_of(pid, why));
  if (!why.empty()) shutdown(connection, SHUT_RDWR);  // after that the recorder may end
}

}  // namespace luatrace::record
