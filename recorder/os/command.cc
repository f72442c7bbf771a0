// SPDX-License-Identifier: MIT
// Starts the command; see command.h.
#include "recorder/os/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "luatrace_format.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

struct Pipe {
  int fd[2];
  Pipe() {
    if (pipe2(fd, O_CLOEXEC) != 0) throw std::runtime_error("pipe: " + errno_text(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int i) {
    if (fd[i] >= 0) close(fd[i]);
    fd[i] = -1;
  }
};

sigset_t old_mask;
void (*old_pipe)(int) = SIG_DFL;
void (*old_file_size)(int) = SIG_DFL;
void (*old_child)(int) = SIG_DFL;

void restore_signals() {
  signal(SIGPIPE, old_pipe);
  signal(SIGXFSZ, old_file_size);
  signal(SIGCHLD, old_child);
  sigprocmask(SIG_SETMASK, &old_mask, nullptr);
}

// In the child. Reports errno if the exec fails.
[[noreturn]] void become(std::vector<char*>& argv, int stdout_fd, Pipe& go, Pipe& report) {
  char byte;
  go.close_end(1);
  if (read(go.fd[0], &byte, 1) != 1) _exit(125);
  restore_signals();
  int error = 0;
  if (stdout_fd >= 0 && dup2(stdout_fd, STDOUT_FILENO) < 0) error = errno;
  if (error == 0) {
    execvp(argv[0], argv.data());
    error = errno;
  }
  const ssize_t n = write(report.fd[1], &error, sizeof error);
  _exit(n == sizeof error ? 127 : 126);
}

}  // namespace

void take_over_signals(const std::vector<int>& to_block) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int s : to_block) sigaddset(&mask, s);
  sigprocmask(SIG_BLOCK, &mask, &old_mask);
  old_pipe = signal(SIGPIPE, SIG_IGN);
  old_file_size = signal(SIGXFSZ, SIG_IGN);
  old_child = signal(SIGCHLD, SIG_DFL);  // or the kernel discards the command's exit status
}

Started start_command(const std::vector<std::string>& words,
                      const std::vector<std::pair<std::string, std::string>>& environment,
                      int stdout_fd, const std::function<bool(pid_t)>& prepare) {
  std::vector<char*> argv;
  for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  Pipe go, report;
  // Settings of a recorder around this one do not apply here.
  for (const char* name :
       {LT_ENV_SOCKET, LT_ENV_INCLUDE, LT_ENV_EXCLUDE, LT_ENV_CFUNCS, LT_ENV_RING, LT_ENV_BLOCK})
    unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  // A daemon's parent ends before its child has run any Lua: that must not look like the end of
  // everything, so the command's orphans become our children.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork: " + errno_text(errno));
  if (pid == 0) become(argv, stdout_fd, go, report);
  go.close_end(0);
  report.close_end(1);
  Started started{pid, 0};
  const bool run = prepare(pid);
  if (run && write(go.fd[1], "g", 1) != 1) started.exec_errno = errno;
  go.close_end(1);
  int error = 0;
  ssize_t n;
  while ((n = read(report.fd[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (n == sizeof error) started.exec_errno = error;
  if (run && started.exec_errno == 0) return started;
  waitpid(pid, nullptr, 0);
  started.pid = -1;
  return started;
}

std::vector<pid_t> waited_children() {
  std::vector<pid_t> children = children_of(getpid());
  std::erase_if(children, [](pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0;
  });
  return children;
}

int shell_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 125;
}

}  // namespace luatrace::record
