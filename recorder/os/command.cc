// SPDX-License-Identifier: MIT
#include "recorder/os/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "luatrace_watch.h"
#include "recorder/os/elf_file.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "trace/descriptor.h"

namespace luatrace::record {
namespace {

struct Pipe {
  Descriptor reads, writes;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe: " + errno_text(errno));
    reads = Descriptor(ends[0]);
    writes = Descriptor(ends[1]);
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

// The file that execvp() would run, if it is an ELF file, else empty. One for another processor is
// not a script without a first line, as which execvp() would give it to the shell.
struct ElfProgram {
  std::string path;
  uint16_t machine = 0;
};

ElfProgram elf_program(const std::string& word) {
  const char* path = getenv("PATH");
  const bool in_path = word.find('/') == word.npos;
  if (in_path && path == nullptr) return {};
  std::string_view folders = in_path ? path : "";
  for (bool more = true; more;) {
    const size_t end = std::min(folders.find(':'), folders.size());
    std::string file(folders.substr(0, end));
    if (!file.empty()) file += '/';
    file += word;
    more = end < folders.size();
    folders.remove_prefix(more ? end + 1 : end);
    if (access(file.c_str(), X_OK) != 0) continue;
    const Descriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const uint16_t machine = fd < 0 ? uint16_t{0} : machine_of(reader_of(fd));
    return machine == 0 ? ElfProgram{} : ElfProgram{file, machine};
  }
  return {};
}

// In the child. Reports errno if the exec fails.
[[noreturn]] void become(std::vector<char*>& argv, const std::string& elf, int stdout_fd, Pipe& go,
                         Pipe& report) {
  char byte;
  go.writes = Descriptor();
  if (read(go.reads, &byte, 1) != 1) _exit(125);
  restore_signals();
  int error = 0;
  if (stdout_fd >= 0 && dup2(stdout_fd, STDOUT_FILENO) < 0) error = errno;
  if (error == 0) {
    elf.empty() ? execvp(argv[0], argv.data()) : execv(elf.c_str(), argv.data());
    error = errno;
  }
  const ssize_t n = write(report.writes, &error, sizeof error);
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
  const ElfProgram elf = elf_program(words[0]);
  Pipe go, report;
  // Settings of a recorder around this one do not apply here.
  for (const char* name : {LT_ENV_SOCKET, LT_ENV_INCLUDE, LT_ENV_EXCLUDE, LT_ENV_CFUNCS,
                           LT_ENV_RING, LT_ENV_BLOCK, LT_ENV_WATCH, LT_ENV_TIMES})
    unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  // A daemon's parent ends before its child has run any Lua: that must not look like the end of
  // everything, so the command's orphans become our children.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork: " + errno_text(errno));
  if (pid == 0) become(argv, elf.path, stdout_fd, go, report);
  go.reads = Descriptor();
  report.writes = Descriptor();
  Started started{pid, 0, elf.machine};
  const bool run = prepare(pid);
  if (run && write(go.writes, "g", 1) != 1) started.exec_errno = errno;
  go.writes = Descriptor();
  int error = 0;
  ssize_t n;
  while ((n = read(report.reads, &error, sizeof error)) < 0 && errno == EINTR) {
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
