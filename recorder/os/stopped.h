// SPDX-License-Identifier: MIT
// Threads of another process, and stopping them for a moment (ptrace).
// Invariants: whatever happens, a thread that was stopped is let go before the destructor returns,
// which takes 2 s at most (one that stops later: detach_deferred(), or the end of this process);
// that a child of ours has ended meanwhile is still to be learnt by waiting for it. Of a process
// with several threads that has ended meanwhile a zombie may be left, which waitpid(-1) takes away.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::record {

std::vector<pid_t> threads_of(pid_t pid);

// As in /proc/PID/stat: 'R' runs or waits for a CPU, 'S' sleeps, 'T' and 't' are stopped; 0: gone.
char thread_state(pid_t pid, pid_t tid);

// Is any thread of that process running (or about to)?
bool has_running_thread(pid_t pid);

// Would none of its threads notice that it is stopped for a moment? Those that run do not, nor do
// those that sleep in calls that the kernel begins again.
bool stop_is_unseen(pid_t pid);

// For whoever waits for any process: is this news that one has stopped? It got no CPU for so long
// that StoppedThreads has left it; it is let go now. wait_status: as waitpid(2) has it.
bool detach_deferred(pid_t tid, int wait_status);

class StoppedThreads {
 public:
  StoppedThreads() = default;
  ~StoppedThreads();
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  // Stops those that are running; what sleeps in a system call is left alone, so no call is
  // interrupted. False and why if not all have stopped.
  bool stop_running(pid_t pid, std::string& why);
  // Stops all of them, see stop_is_unseen().
  bool stop_all(pid_t pid, std::string& why);
  // Stops that one, whatever it does. Calls that it sleeps in are begun again by the kernel, but
  // some end with EINTR instead (signal(7): epoll_wait, ...): for these a better moment is waited
  // for, 20 ms at most. For one in an uninterruptible call 1 s; it is left alone if that goes on.
  bool stop(pid_t pid, pid_t tid, std::string& why);

 private:
  struct Thread {
    pid_t tid;
    int signal;  // that was about to be delivered
    bool ours;   // a child of this process
    bool stopped;
  };
  bool seize(pid_t tid, std::string& why);
  bool wait_for_all(std::string& why);
  static bool wait_for(Thread& t, uint64_t limit);
  static void detach(Thread t);

  std::vector<Thread> threads_;
};

}  // namespace luatrace::record
