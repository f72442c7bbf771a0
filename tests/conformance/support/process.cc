// SPDX-License-Identifier: MIT
// See process.h. Output is taken from two pipes by poll(); a command that
// closes both but lives on is still waited for, within the time limit.
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace luatrace::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int fd[2] = {-1, -1};
  Pipe() {
    if (pipe2(fd, O_CLOEXEC) != 0) throw std::runtime_error("pipe: no file descriptors left");
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
  void Close(int end) {
    if (fd[end] >= 0) close(fd[end]);
    fd[end] = -1;
  }
};

[[noreturn]] void Child(const std::vector<std::string>& argv, const RunOptions& options,
                        const Pipe& out, const Pipe& err) {
  setpgid(0, 0);
  dup2(out.fd[1], 1);
  dup2(err.fd[1], 2);
  int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, 0);
  for (const auto& [name, value] : options.env) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> args;
  for (const auto& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  if (options.cwd.empty() || chdir(options.cwd.c_str()) == 0) execvp(args[0], args.data());
  std::string message = argv[0] + ": " + strerror(errno) + "\n";
  (void)!write(2, message.data(), message.size());
  _exit(127);
}

// Appends what is there; false at end of file.
bool Drain(int fd, std::string* to, size_t max) {
  char buffer[65536];
  ssize_t n = read(fd, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (to->size() < max) to->append(buffer, static_cast<size_t>(n));
  return n > 0;
}

int MillisLeft(Clock::time_point end) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// Reads both pipes until both end or time is up; false: time is up.
bool ReadAll(Pipe* out, Pipe* err, const RunOptions& options, Clock::time_point end,
             RunResult* result) {
  while (out->fd[0] >= 0 || err->fd[0] >= 0) {
    pollfd fds[2] = {{out->fd[0], POLLIN, 0}, {err->fd[0], POLLIN, 0}};
    int n = poll(fds, 2, MillisLeft(end));
    if (n == 0) return false;
    if (fds[0].revents && !Drain(out->fd[0], &result->out, options.max_output)) out->Close(0);
    if (fds[1].revents && !Drain(err->fd[0], &result->err, options.max_output)) err->Close(0);
  }
  return true;
}

int ShellStatus(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// Waits until pid ends or time is up (then false).
bool WaitUntil(pid_t pid, Clock::time_point end, int* status) {
  for (;;) {
    pid_t got = waitpid(pid, status, WNOHANG);
    if (got == pid) return true;
    if (got < 0 && errno != EINTR) return false;
    if (MillisLeft(end) == 0) return false;
    usleep(500);
  }
}

bool NeedsQuotes(const std::string& s) {
  return s.empty() || s.find_first_of(" \t\n'\"\\$*?;&|<>()") != std::string::npos;
}

}  // namespace

RunResult RunCommand(const std::vector<std::string>& argv, const RunOptions& options) {
  RunResult result;
  Pipe out, err;
  pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) Child(argv, options, out, err);
  setpgid(pid, pid);
  out.Close(1);
  err.Close(1);
  if (options.started) options.started(pid);
  auto end = Clock::now() + std::chrono::milliseconds(options.timeout_ms);
  int status = 0;
  bool in_time = ReadAll(&out, &err, options, end, &result) && WaitUntil(pid, end, &status);
  if (!in_time) {
    result.timed_out = true;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  result.status = ShellStatus(status);
  return result;
}

std::string ShellLine(const std::vector<std::string>& argv) {
  std::string line;
  for (const auto& a : argv) {
    if (!line.empty()) line += ' ';
    line += NeedsQuotes(a) ? "'" + a + "'" : a;
  }
  return line;
}

ScratchDir::ScratchDir() {
  const char* tmp = getenv("TMPDIR");
  std::string pattern = std::string(tmp ? tmp : "/tmp") + "/luatrace-test-XXXXXX";
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a directory: " + pattern);
  path_ = pattern;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace luatrace::test
