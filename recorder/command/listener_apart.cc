// SPDX-License-Identifier: MIT
#include "recorder/command/listener_apart.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <utility>

#include "recorder/command/listener.h"
#include "recorder/os/clock.h"
#include "recorder/os/helper.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr int kMaxReports = 256;  // in one pass
constexpr uint64_t kStopNs = 1000 * kMillisecond;
constexpr int kEndMs = 5;  // for the end of the process, which has closed the socket

struct Root {  // a message to the other process
  pid_t pid;
  uint64_t start;
};

void close_both(Hello& hello) {
  for (int* const fd : {&hello.socket, &hello.ring_fd})
    if (*fd >= 0) close(std::exchange(*fd, -1));
}

}  // namespace

ListenerApart::ListenerApart(pid_t root) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("socketpair: " + errno_text(errno));
  const pid_t accepted = root != 0 ? root : getpid();
  pid_ = start_helper("luatrace-listen", {ends[1]}, [&] { serve(ends[1], accepted); });
  close(ends[1]);
  fd_ = Descriptor(ends[0]);
  Report first;
  const int state = receive_report(fd_, first, 0);
  if (state > 0) path_ = first.text;
  if (state > 0 && first.kind == Report::Kind::kPath) return;
  std::vector<std::string> none;
  stop(none);
  throw std::runtime_error(state > 0 ? first.text : "cannot start luatrace-listen");
}

ListenerApart::~ListenerApart() {
  std::vector<std::string> none;
  stop(none);
}

void ListenerApart::add_to(std::vector<pollfd>& fds) const {
  if (!ended_) fds.push_back({fd_, POLLIN, 0});
}

void ListenerApart::add_root(pid_t pid) {
  const Root root{pid, read_birth(pid).start};
  if (root.start != 0) send(fd_, &root, sizeof root, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ListenerApart::take(Report& report, std::vector<Hello>& hellos,
                         std::vector<std::string>& refusals) {
  Hello& hello = report.hello;
  if (report.kind == Report::Kind::kRefused) refusals.push_back(report.text);
  if (report.kind == Report::Kind::kEnd) outsiders_ = report.outsiders;
  if (report.kind != Report::Kind::kHello) return;
  if (hello.socket >= 0 && hello.ring_fd >= 0) return hellos.push_back(hello);
  close_both(hello);
  refusals.push_back(refusal_of(hello.pid, kTooFew));
}

std::vector<Hello> ListenerApart::receive(std::vector<std::string>& refusals) {
  std::vector<Hello> hellos;
  for (int i = 0, state = 1; !ended_ && state > 0 && i < kMaxReports; i++) {
    Report report;
    state = receive_report(fd_, report, MSG_DONTWAIT);
    if (state > 0) take(report, hellos, refusals);
    if (state != 0) continue;
    ended_ = true;
    if (!stopping_) refusals.push_back("luatrace-listen has ended: no further Lua VM is recorded");
  }
  return hellos;
}

// A hello comes too late now.
void ListenerApart::stop(std::vector<std::string>& refusals) {
  if (fd_ < 0) return;
  stopping_ = true;
  shutdown(fd_, SHUT_WR);
  const uint64_t limit = monotonic_ns() + kStopNs;
  pollfd p{fd_, POLLIN, 0};
  for (uint64_t now; !ended_ && (now = monotonic_ns()) < limit;) {
    std::vector<Hello> hellos;
    if (poll(&p, 1, static_cast<int>((limit - now) / kMillisecond + 1)) > 0)
      hellos = receive(refusals);
    for (Hello& hello : hellos) close_both(hello);
  }
  fd_ = Descriptor();
  ended_ = true;
  reap_helper(pid_, kEndMs);
}

// -- In the other process --

// False: the recorder has stopped or ended.
bool ListenerApart::take_root(Listener& listener, int to) {
  Root root{};
  const ssize_t n = recv(to, &root, sizeof root, MSG_DONTWAIT);
  if (n == sizeof root) listener.add_root(root.pid, root.start);
  return n == sizeof root || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

// Until the recorder stops or ends.
void ListenerApart::accept_all(Listener& listener, int to) {
  while (!listener.is_overwhelmed()) {
    pollfd space{to, POLLIN | POLLOUT, 0};
    poll(&space, 1, -1);  // the recorder takes what is reported
    std::vector<pollfd> fds = {{to, POLLIN, 0}};
    listener.add_to(fds);
    poll(fds.data(), fds.size(), listener.pause_ms());
    if (fds[0].revents != 0 && !take_root(listener, to)) return;
    std::vector<std::string> refusals;
    listener.receive(refusals);
    for (const auto& why : refusals) send_report(to, Report::Kind::kRefused, why);
  }
  send_report(to, Report::Kind::kRefused,
              "the socket is closed: too many processes have sent files that do not answer");
}

// It ends after the recorder has closed the connection: the helpers are its children, not the
// recorder's, which would take them for the command's.
void ListenerApart::serve(int to, pid_t root) {
  use_all_descriptors();
  Report end;
  try {
    Listener listener(to, Ancestry(Ancestry::kReads, root));
    send_report(to, Report::Kind::kPath, listener.path());
    accept_all(listener, to);
    end.outsiders = listener.outsiders();
  } catch (const std::exception& e) {
    send_report(to, Report::Kind::kFailed, e.what());
  }
  send_report(to, end);
  shutdown(to, SHUT_WR);  // helpers have it, too
  char byte;
  ssize_t n;
  while ((n = recv(to, &byte, 1, 0)) > 0 || (n < 0 && errno == EINTR)) {
  }
}

}  // namespace luatrace::record
