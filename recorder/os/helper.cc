// SPDX-License-Identifier: MIT
// Helpers; see helper.h.
#include "recorder/os/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace luatrace::record {
namespace {

constexpr useconds_t kPauseUs = 100;

std::mutex mutex;
std::vector<pid_t> late;  // helpers that had not ended when we stopped waiting

// True: it is gone.
bool has_ended(pid_t pid) {
  return waitpid(pid, nullptr, WNOHANG | __WCLONE) != 0;
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

// In the helper: what the terminal sends is not for it, what our caller reads is not held open.
void leave_the_recorder(const char* name, const std::vector<int>& kept) {
  setsid();
  prctl(PR_SET_NAME, name);
  for (int s = 1; s < NSIG; s++)
    if (s != SIGKILL && s != SIGCHLD) signal(s, SIG_IGN);
  close_all_but(kept);
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);  // the lowest number is this one
}

}  // namespace

// Not fork(), whose child waitpid(-1) tells of when it ends.
pid_t start_helper(const char* name, std::vector<int> kept, const std::function<void()>& body) {
  std::sort(kept.begin(), kept.end());
  {
    const std::lock_guard lock(mutex);
    std::erase_if(late, has_ended);
  }
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid != 0) return pid;
  leave_the_recorder(name, kept);
  body();
  _exit(0);
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

}  // namespace luatrace::record
