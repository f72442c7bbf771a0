// SPDX-License-Identifier: MIT
// Child: a process of a test.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace luatrace::record {

// A child that does something, then waits to be killed.
class Child {
 public:
  explicit Child(const std::function<void()>& begin) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      begin();
      close(ends[1]);
      for (;;) pause();
    }
    close(ends[1]);
    char byte;
    while (read(ends[0], &byte, 1) > 0) {
    }
    close(ends[0]);
  }
  ~Child() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace luatrace::record
