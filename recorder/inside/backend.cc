// SPDX-License-Identifier: MIT
// InsideBackend; see backend.h.
#include "recorder/inside/backend.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr int kSocket = STDIN_FILENO;
constexpr uint64_t kFlushNs = 10'000'000'000;
constexpr std::chrono::seconds kDrain{5};
constexpr size_t kMaxAnswer = 1000;  // bytes

// The process that has made the socket.
pid_t process_of_socket() {
  ucred peer{};
  socklen_t size = sizeof peer;
  int type = 0;
  socklen_t type_size = sizeof type;
  if (getsockopt(kSocket, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_SEQPACKET ||
      getsockopt(kSocket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
    throw std::runtime_error(
        "--inside: standard input is not the socket of a process that records itself (a program "
        "calls luatrace.start() or luaJIT_trace_start(), which run this command)");
  return peer.pid;
}

// Never waits: a process that does not read its socket misses what it has asked for. From any
// thread.
void answer(std::string_view text) {
  const std::string message = std::string(1, '\0') + std::string(text);
  send(kSocket, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void answer(const std::string& request, const std::string& text) {
  answer(request + ":" + text.substr(0, kMaxAnswer));
}

// A request, and the descriptor that came with it, if any. Returns what recvmsg() does.
ssize_t receive(std::string& request, Descriptor& file) {
  char text[16];
  union {
    cmsghdr align;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  iovec part{text, sizeof text};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control.space;
  m.msg_controllen = sizeof control.space;
  const ssize_t n = recvmsg(kSocket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const c = n > 0 ? CMSG_FIRSTHDR(&m) : nullptr;
  if (c != nullptr && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    file = Descriptor(fd);
  }
  request.assign(text, n > 0 ? static_cast<size_t>(n) : 0);
  return n;
}

// The process reads no messages (LUATRACE): standard output is its standard error.
void print_on_standard_output() {
  struct stat out {
  }, null{};
  if (fstat(STDOUT_FILENO, &out) != 0 || stat("/dev/null", &null) != 0 ||
      out.st_rdev == null.st_rdev)
    return;
  dup2(STDOUT_FILENO, STDERR_FILENO);
}

// Children that run the same program.
std::vector<pid_t> forks_of(pid_t pid) {
  std::vector<pid_t> forks = children_of(pid);
  const auto program = program_of(pid);
  std::erase_if(forks, [&](pid_t child) { return program_of(child) != program; });
  return forks;
}

}  // namespace

InsideBackend::InsideBackend(const Options& options, BackendHost& host, InsideActions actions)
    : CommandBackend(options, host, CommandFile{}, process_of_socket()),
      host_(host),
      actions_(std::move(actions)),
      has_flight_(options.flight != 0),
      pid_(process_of_socket()),
      pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))) {}

InsideBackend::~InsideBackend() {
  if (pidfd_ >= 0) close(pidfd_);
}

// -- The socket --

Attached InsideBackend::begin() {
  if (std::string why = actions_.open(pid_); !why.empty()) return {Refusal::kOther, std::move(why)};
  std::string why;
  if (host_.output_of(pid_, why) == nullptr) return {Refusal::kOther, why};
  std::string settings;
  for (const auto& [name, value] : environment()) settings += name + "=" + value + '\0';
  answer(settings);
  print_on_standard_output();
  return {};
}

// What has happened until now reaches the file, with the clock's rate until now. Empty, or why not.
std::string InsideBackend::flush() {
  Drainer& drainer = host_.drainer();
  std::string why;
  const auto job = [&drainer, output = host_.output_of(pid_, why)] {
    if (output != nullptr) output->write_clock();
    drainer.flush_all();
  };
  const bool done = drainer.call(job, kDrain) && actions_.written(monotonic_ns() + kFlushNs);
  return done ? "" : "the disk is too slow";
}

void InsideBackend::snapshot(const std::string& request, Descriptor file) {
  std::string why;
  const auto output = host_.output_of(pid_, why);
  if (!has_flight_ || output == nullptr)
    return answer(request, has_flight_ ? why : "the recording has no --flight");
  if (file >= 0 && !actions_.is_replaceable(file))
    return answer(request, "it exists and is not a trace");
  SnapshotFile target;
  target.name = file >= 0 ? "the snapshot" : "";
  target.done = [request](const std::string& text) { answer(request, text); };
  target.opened.fd = file.release();
  actions_.snapshot(output, std::move(target));
}

void InsideBackend::on_request(const std::string& request, Descriptor file) {
  if (request[0] == 'F') answer(request, flush());
  if (request[0] == 'N') snapshot(request, std::move(file));
  if (request[0] == 'E') exits(request);
  if (request[0] != 'S') return;
  asked_to_stop_ = true;
  stop_ = request;
}

// The process waits at its exit until its file is complete; not for what it leaves running: a
// daemon goes on in a child, which may have had no event so far.
void InsideBackend::exits(const std::string& request) {
  ended_ = true;
  stop_ = request;
  const std::vector<pid_t> forks = forks_of(pid_);
  for (const pid_t pid : forks) add_root(pid);
  if (actions_.leaves(pid_, forks)) answer(request, "");
}

void InsideBackend::read_requests() {
  for (;;) {
    Descriptor file;
    std::string request;
    const ssize_t n = receive(request, file);
    if (n == 0) connected_ = false;
    if (n <= 0) return;
    on_request(request, std::move(file));
  }
}

// -- The recording --

void InsideBackend::add_descriptors(std::vector<pollfd>& fds) const {
  CommandBackend::add_descriptors(fds);
  if (connected_ && !asked_to_stop_) fds.push_back({kSocket, POLLIN, 0});
  if (pidfd_ >= 0 && !ended_) fds.push_back({pidfd_, POLLIN, 0});
}

// The end of the process is seen at once, not when poll() is due: until then its file is
// incomplete.
void InsideBackend::accept() {
  CommandBackend::accept();
  pollfd end{pidfd_, POLLIN, 0};
  ended_ = ended_ || (pidfd_ >= 0 && ::poll(&end, 1, 0) > 0);
  if (connected_ && !asked_to_stop_) read_requests();
}

int InsideBackend::poll(uint64_t now) {
  ended_ = ended_ || (pidfd_ < 0 && process_is_gone(pid_));
  return CommandBackend::poll(now);
}

void InsideBackend::on_exit(int status) {
  answer(stop_, status == 0 ? "" : "status " + std::to_string(status));
}

}  // namespace luatrace::record
