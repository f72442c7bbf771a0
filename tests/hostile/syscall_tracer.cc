// SPDX-License-Identifier: MIT
// Shows system calls; see syscall_tracer.h.
#include "tests/hostile/syscall_tracer.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

namespace hostile {
namespace {

constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                          PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
constexpr int kSyscallStop = SIGTRAP | 0x80;

// A number where ptrace's parameter is a pointer.
void* word(long n) {
  return reinterpret_cast<void*>(n);
}

// The process of a thread; 0: it is gone.
pid_t process_of(pid_t tid) {
  std::ifstream in("/proc/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("Tgid:")) return std::atoi(line.c_str() + 5);
  return 0;
}

bool is_link(pid_t tid, uint64_t fd) {
  char target[64] = "";
  const std::string path = "/proc/" + std::to_string(tid) + "/fd/" + std::to_string(fd);
  if (readlink(path.c_str(), target, sizeof target - 1) < 0) return false;
  const std::string_view t = target;
  return t.find("bpf_link") != t.npos || t.find("bpf-link") != t.npos ||
         t.find("perf_event") != t.npos;
}

Call call_of(pid_t tid, const __ptrace_syscall_info& info) {
  Call call{static_cast<long>(info.entry.nr), false};
  const auto& args = info.entry.args;
  switch (call.number) {
    case SYS_openat:
      call.writes = (args[2] & (O_WRONLY | O_RDWR)) != 0;
      break;
    case SYS_mmap:
      call.writes = (args[3] & MAP_SHARED) != 0;
      break;
    case SYS_bpf:
      call.writes = args[0] == BPF_LINK_CREATE;
      break;
    case SYS_close:
      call.writes = is_link(tid, args[0]);
      break;
    case SYS_perf_event_open:
      call.writes = true;
      break;
    case SYS_ioctl:
      call.writes = is_link(tid, args[0]);
      break;
  }
  return call;
}

class Tracer {
 public:
  Tracer(Follow follow, const std::function<void(const Stop&)>& on_call)
      : follow_(follow), on_call_(on_call) {}

  int run(const std::vector<std::string>& words, const std::string& log) {
    start(words, log);
    while (!threads_.empty()) {
      int status = 0;
      const pid_t tid = waitpid(-1, &status, __WALL);
      if (tid < 0) throw std::runtime_error("nothing to wait for");
      changed(tid, status);
    }
    return status_;
  }

 private:
  struct Thread {
    bool known = false;  // has stopped before
    bool in_call = false;
    bool in_child = false;
    Call call;
  };

  // It waits for a byte before it becomes the program: by then it is traced.
  void start(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> argv;
    for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    program_ = fork();
    if (program_ == 0) {
      char byte;
      const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(98);
      if (read(ends[0], &byte, 1) == 1) execv(argv[0], argv.data());
      _exit(99);
    }
    threads_[program_].known = true;
    if (ptrace(PTRACE_SEIZE, program_, nullptr, word(kOptions)) != 0 || write(ends[1], "x", 1) != 1)
      throw std::runtime_error("cannot trace a child");
    close(ends[0]);
    close(ends[1]);
  }

  void changed(pid_t tid, int status) {
    if (WIFSTOPPED(status))
      stopped(tid, status);
    else
      ended(tid, status);
  }

  void ended(pid_t tid, int status) {
    threads_.erase(tid);
    if (tid == program_) status_ = status;
  }

  void stopped(pid_t tid, int status) {
    const int event = status >> 16, signal = WSTOPSIG(status);
    Thread& t = threads_[tid];
    if (!t.known && !meet(tid, t)) return;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
      meet_child_of(tid);
    if (signal == kSyscallStop) {
      at_call(tid, t);
      continue_thread(tid, 0);
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
      ptrace(PTRACE_LISTEN, tid, nullptr, nullptr);  // stopped by a signal
    } else {
      continue_thread(tid, event == 0 ? signal : 0);
    }
  }

  // A child stops before its first instruction, when it gets a processor: its parent waits for
  // that. Otherwise the parent may be killed before, nobody waits for the child any more, and it
  // stays stopped.
  void meet_child_of(pid_t tid) {
    unsigned long message = 0;
    if (ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) != 0) return;
    const auto child = static_cast<pid_t>(message);
    if (process_of(child) != child || met_.contains(child)) return;
    int status = 0;
    if (waitpid(child, &status, __WALL) == child) changed(child, status);
  }

  // A new thread, or a new process. False: it is not followed, or gone.
  bool meet(pid_t tid, Thread& t) {
    t.known = true;
    const pid_t process = process_of(tid);
    if (process == program_) return true;
    if (process == tid) met_.insert(tid);
    if (process == tid && child_ == 0) child_ = tid;
    t.in_child = true;
    if (follow_ == Follow::kChildren) return true;
    ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
    threads_.erase(tid);
    return false;
  }

  void at_call(pid_t tid, Thread& t) {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, word(sizeof info), &info) <= 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) t.call = call_of(tid, info);
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY && info.op != PTRACE_SYSCALL_INFO_EXIT) return;
    on_call_({program_, child_, t.in_child, info.op == PTRACE_SYSCALL_INFO_EXIT, t.call});
  }

  // It may have been killed meanwhile: then there is nothing to report.
  static void continue_thread(pid_t tid, int signal) {
    ptrace(PTRACE_SYSCALL, tid, nullptr, word(signal));
  }

  Follow follow_;
  const std::function<void(const Stop&)>& on_call_;
  pid_t program_ = 0, child_ = 0;
  std::map<pid_t, Thread> threads_;
  std::set<pid_t> met_;  // its children
  int status_ = 0;
};

}  // namespace

std::string name_of(const Call& call) {
  static const std::map<long, const char*> names = {
#define NAME(name) {SYS_##name, #name}
      NAME(process_vm_writev),
      NAME(process_vm_readv),
      NAME(ptrace),
      NAME(kill),
      NAME(tgkill),
      NAME(bpf),
      NAME(ioctl),
      NAME(perf_event_open),
      NAME(pidfd_open),
      NAME(socket),
      NAME(socketpair),
      NAME(bind),
      NAME(listen),
      NAME(connect),
      NAME(sendmsg),
      NAME(sendto),
      NAME(recvmsg),
      NAME(recvfrom),
      NAME(mmap),
      NAME(munmap),
      NAME(ftruncate),
      NAME(openat),
      NAME(unlinkat),
      NAME(mkdir),
      NAME(rmdir),
      NAME(chmod),
      NAME(clone),
      NAME(clone3),
      NAME(execve),
      NAME(prctl),
      NAME(rt_sigprocmask),
      NAME(rt_sigaction),
      NAME(wait4),
      NAME(waitid),
      NAME(flock),
      NAME(dup2),
      NAME(setsid),
      NAME(write),
      NAME(pwrite64),
      NAME(memfd_create),
      NAME(close),
      NAME(read),
      NAME(futex),
      NAME(poll),
      NAME(exit_group),
      NAME(epoll_ctl),
      NAME(fcntl),
      NAME(setsockopt)
#undef NAME
  };
  const auto it = names.find(call.number);
  return (it == names.end() ? "system call " + std::to_string(call.number)
                            : std::string(it->second)) +
         (call.writes ? " (to write)" : "");
}

int trace_calls(const std::vector<std::string>& words, const std::string& log, Follow follow,
                const std::function<void(const Stop&)>& on_call) {
  return Tracer(follow, on_call).run(words, log);
}

}  // namespace hostile
