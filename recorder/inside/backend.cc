// SPDX-License-Identifier: MIT
// InsideBackend; see backend.h.
#include "recorder/inside/backend.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
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

}  // namespace

InsideBackend::InsideBackend(const Options& options, BackendHost& host,
                             std::function<std::string(pid_t)> open,
                             std::function<bool(uint64_t)> written)
    : CommandBackend(options, host, CommandFile{}, process_of_socket()),
      host_(host),
      open_(std::move(open)),
      written_(std::move(written)),
      pid_(process_of_socket()),
      pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))) {}

InsideBackend::~InsideBackend() {
  if (pidfd_ >= 0) close(pidfd_);
}

// -- The socket --

// Never waits: a process that does not read its socket misses what it has asked for.
void InsideBackend::answer(std::string_view text) const {
  const std::string message = std::string(1, '\0') + std::string(text);
  if (connected_) send(kSocket, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Attached InsideBackend::begin() {
  if (std::string why = open_(pid_); !why.empty()) return {Refusal::kOther, std::move(why)};
  std::string why;
  if (host_.output_of(pid_, why) == nullptr) return {Refusal::kOther, why};
  std::string settings;
  for (const auto& [name, value] : environment()) settings += name + "=" + value + '\0';
  answer(settings);
  return {};
}

// What has happened until now reaches the file.
void InsideBackend::flush() {
  Drainer& drainer = host_.drainer();
  if (drainer.call([&drainer] { drainer.flush_all(); }, kDrain) &&
      written_(monotonic_ns() + kFlushNs))
    answer("F");
  else
    answer("");
}

void InsideBackend::read_requests() {
  char request = 0;
  ssize_t n;
  while ((n = recv(kSocket, &request, 1, MSG_DONTWAIT)) > 0) {
    if (request == 'F') flush();
    if (request == 'S') asked_to_stop_ = true;
  }
  if (n == 0) connected_ = false;
}

// -- The recording --

void InsideBackend::add_descriptors(std::vector<pollfd>& fds) const {
  CommandBackend::add_descriptors(fds);
  if (connected_ && !asked_to_stop_) fds.push_back({kSocket, POLLIN, 0});
  if (pidfd_ >= 0 && !ended_) fds.push_back({pidfd_, POLLIN, 0});
}

void InsideBackend::accept() {
  CommandBackend::accept();
  if (connected_ && !asked_to_stop_) read_requests();
}

int InsideBackend::poll(uint64_t now) {
  pollfd end{pidfd_, POLLIN, 0};
  ended_ = ended_ || (pidfd_ >= 0 ? ::poll(&end, 1, 0) > 0 : process_is_gone(pid_));
  return CommandBackend::poll(now);
}

void InsideBackend::on_exit(int status) {
  answer(std::string(1, static_cast<char>(status)));
}

}  // namespace luatrace::record
