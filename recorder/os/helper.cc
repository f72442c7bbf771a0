// SPDX-License-Identifier: MIT
#include "recorder/os/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace luatrace::record {
namespace {

constexpr useconds_t kPauseUs = 100;
constexpr int kStartMs = 1000;  // for a helper to begin

std::mutex mutex;
std::vector<pid_t> late;  // helpers that had not ended when we stopped waiting

// True: it is gone.
bool has_ended(pid_t pid) {
  return waitpid(pid, nullptr, WNOHANG | __WALL) != 0;
}

// kept: in ascending order.
void close_all_but(const std::vector<int>& kept) {
  unsigned from = 0;
  for (const int fd : kept) {
    const auto at = static_cast<unsigned>(fd);
    if (at > from) syscall(SYS_close_range, from, at - 1, 0);
    from = std::max(from, at + 1);
  }
  syscall(SYS_close_range, from, ~0U, 0);
}

// In the helper: signals of the terminal must not reach it, and our caller's pipes must not stay
// open.
void leave_the_recorder(const char* name, const std::vector<int>& kept) {
  setsid();
  prctl(PR_SET_NAME, name);
  for (int s = 1; s < NSIG; s++)
    if (s != SIGKILL && s != SIGCHLD) signal(s, SIG_IGN);
  close_all_but(kept);
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);  // gets this number, the lowest free one
}

// Waits until the helper has closed its side, however busy the machine is: what kills the
// recorder's process group now must not kill its guard.
void wait_for_end_of(int pipe) {
  if (pipe < 0) return;
  pollfd p{pipe, POLLIN, 0};
  while (poll(&p, 1, kStartMs) < 0 && errno == EINTR) {
  }
}

}  // namespace

// Not fork(), because waitpid(-1) would report the end of its child.
pid_t start_helper(const char* name, std::vector<int> kept, const std::function<void()>& body) {
  std::sort(kept.begin(), kept.end());
  {
    const std::lock_guard lock(mutex);
    std::erase_if(late, has_ended);
  }
  int left[2] = {-1, -1};  // without free descriptors we do not wait for it
  if (pipe2(left, O_CLOEXEC) != 0) left[0] = left[1] = -1;
  auto pid = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid < 0 && errno == EINVAL) pid = fork();  // qemu's user mode has only this
  if (pid == 0) {
    leave_the_recorder(name, kept);  // closes the pipe
    body();
    _exit(0);
  }
  if (left[1] >= 0) close(left[1]);
  if (pid > 0) wait_for_end_of(left[0]);
  if (left[0] >= 0) close(left[0]);
  return pid;
}

void reap_helper(pid_t pid, int limit_ms) {
  if (pid <= 0) return;
  for (useconds_t spent = 0; !has_ended(pid); spent += kPauseUs) {
    if (spent / 1000 < static_cast<useconds_t>(limit_ms)) {
      usleep(kPauseUs);
      continue;
    }
    const std::lock_guard lock(mutex);
    return late.push_back(pid);
  }
}

void use_all_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace luatrace::record
