// SPDX-License-Identifier: MIT
#include "analyzer/top/recorder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <system_error>
#include <utility>

#include "cli/execute.h"

namespace luatrace::top {
namespace {

constexpr size_t kMaxMessages = 65536;  // Bytes; more are dropped.
constexpr int kFailed = 125;

struct Pipe {
  int read = -1, write = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  return {ends[0], ends[1]};
}

[[noreturn]] void become_recorder(const char* self, std::vector<std::string> options, int trace,
                                  int messages) {
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(trace, STDOUT_FILENO);
  if (messages >= 0) dup2(messages, STDERR_FILENO);
  setenv("LUATRACE_CALLER", "luatrace-top", 1);  // Its messages are ours.
  execute("luatrace-record", self, std::move(options));
  std::cerr << "luatrace-top: luatrace-record: cannot execute: " << strerror(errno) << std::endl;
  _exit(kFailed);
}

}  // namespace

Recorder::Recorder(const char* self, std::vector<std::string> options, bool keeps_messages) {
  const Pipe trace = make_pipe(), messages = keeps_messages ? make_pipe() : Pipe();
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) become_recorder(self, std::move(options), trace.write, messages.write);
  close(trace.write);
  if (keeps_messages) close(messages.write);
  trace_ = trace.read;
  messages_ = messages.read;
}

void Recorder::read_messages(std::string& text) {
  char bytes[4096];
  const ssize_t n = read(messages_, bytes, sizeof bytes);
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) {
    close(messages_);
    messages_ = -1;
  } else if (text.size() < kMaxMessages) {
    text.append(bytes, static_cast<size_t>(n));
  }
}

void Recorder::stop() {
  kill(pid_, SIGINT);
}

int Recorder::wait(std::string& messages) {
  char bytes[65536];
  pollfd files[] = {{trace_, POLLIN, 0}, {messages_, POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (poll(files, 2, -1) < 0) continue;
    if (files[0].revents && read(trace_, bytes, sizeof bytes) == 0) files[0].fd = -1;
    if (files[1].revents) read_messages(messages), files[1].fd = messages_;
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace luatrace::top
