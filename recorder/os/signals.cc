// SPDX-License-Identifier: MIT
#include "recorder/os/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "recorder/os/clock.h"
#include "recorder/os/command.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kLeaveNs = uint64_t{Signals::kLeaveMs} * 1'000'000;

// SIGHUP is left alone if it is ignored: nohup includes us. (SIGINT is not: a shell script ignores
// it for all commands that it starts with "&".)
std::vector<int> ending_signals() {
  struct sigaction now {};
  sigaction(SIGHUP, nullptr, &now);
  if (now.sa_handler == SIG_IGN) return {SIGINT, SIGTERM};
  return {SIGINT, SIGTERM, SIGHUP};
}

Descriptor open_signals(const std::vector<int>& numbers) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int s : numbers) sigaddset(&mask, s);
  const int fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) throw std::runtime_error("signalfd: " + errno_text(errno));
  return Descriptor(fd);
}

Descriptor open_event() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) throw std::runtime_error("eventfd: " + errno_text(errno));
  return Descriptor(fd);
}

// By a handler: commands would inherit that a signal is ignored.
void disregard(int number) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  if (now.sa_handler == SIG_IGN) return;
  now = {};
  now.sa_handler = [](int) {};
  now.sa_flags = SA_RESTART;
  sigaction(number, &now, nullptr);
}

void raise_event(int fd) {
  const ssize_t n = eventfd_write(fd, 1);
  (void)n;
}

}  // namespace

Signals::Signals(bool snapshots) {
  std::vector<int> ending = ending_signals();
  snapshots ? ending.push_back(SIGUSR1) : disregard(SIGUSR1);
  disregard(SIGUSR2);
  std::vector<int> all = ending;
  all.push_back(SIGCHLD);
  take_over_signals(all);
  signal_fd_ = open_signals(ending);
  child_fd_ = open_signals({SIGCHLD});
  event_fd_ = open_event();
  stop_fd_ = open_event();
  thread_ = std::thread([this] { listen(); });
}

Signals::~Signals() {
  raise_event(stop_fd_);
  thread_.join();
}

std::vector<ReceivedSignal> Signals::take() {
  eventfd_t n;
  if (eventfd_read(event_fd_, &n) != 0) n = 0;
  signalfd_siginfo child;
  while (read(child_fd_, &child, sizeof child) == sizeof child) {
  }
  const std::lock_guard lock(mutex_);
  return std::exchange(received_, {});
}

// False: there is none (any more).
bool Signals::read_one() {
  signalfd_siginfo s;
  if (read(signal_fd_, &s, sizeof s) != sizeof s) return false;
  const int number = static_cast<int>(s.ssi_signo);
  if (number != SIGUSR1) count_++, last_ = number;
  {
    const std::lock_guard lock(mutex_);
    const bool again = number == SIGUSR1 && !received_.empty() && received_.back().number == number;
    if (!again) received_.push_back({number, s.ssi_code == SI_KERNEL});
  }
  raise_event(event_fd_);
  return true;
}

void Signals::listen() {
  uint64_t leave_ns = UINT64_MAX;
  for (;;) {
    pollfd fds[] = {{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    const uint64_t now = monotonic_ns();
    if (now >= leave_ns) _exit(128 + last_);
    const int pause =
        leave_ns == UINT64_MAX ? -1 : static_cast<int>((leave_ns - now) / 1'000'000) + 1;
    poll(fds, 2, pause);
    if (fds[1].revents != 0) return;
    while (read_one()) {
    }
    if (count_ >= 2 && leave_ns == UINT64_MAX) leave_ns = monotonic_ns() + kLeaveNs;
  }
}

}  // namespace luatrace::record
