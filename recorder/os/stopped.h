// SPDX-License-Identifier: MIT
// Threads of another process, and stopping them for a moment (ptrace).
// Invariants: whatever happens, a stopped thread is detached before the destructor returns, which
// takes up to 2 s (one that stops later: detach_deferred(), or the end of this process); the end of
// our own child can still be waited for. If a process with several threads has ended meanwhile, a
// zombie may be left, which waitpid(-1) removes.
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

// Would none of its threads notice that it is stopped for a moment? Running threads do not, nor do
// those that sleep in calls that the kernel restarts.
bool stop_is_transparent(pid_t pid);

// For callers that wait for any process: does this status report a thread that stopped too late (it
// got no CPU for so long) for StoppedThreads? Then it is detached now. wait_status: as in
// waitpid(2).
bool detach_deferred(pid_t tid, int wait_status);

// Of a stopped thread: what LuaJIT keeps in registers while it runs Lua, by their roles. Any other
// code has anything there.
struct Registers {
  uint64_t pc = 0;        // of the machine
  uint64_t base = 0;      // the frame of the interpreter's current function
  uint64_t bytecode = 0;  // the next instruction
  uint64_t vm = 0;        // x86-64: the dispatch table; arm64: the global_State
};

class StoppedThreads {
 public:
  StoppedThreads() = default;
  ~StoppedThreads();
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  // Stops the running threads; those that sleep in a system call are left alone, so no call is
  // interrupted. False and the reason if not all have stopped.
  bool stop_running(pid_t pid, std::string& why);
  // Stops all of them, see stop_is_transparent().
  bool stop_all(pid_t pid, std::string& why);
  // Stops that thread, whatever it does. The kernel restarts the call in which it sleeps, but some
  // calls end with EINTR instead (signal(7): epoll_wait, ...): then it waits up to 20 ms for a
  // better moment, and up to 1 s for the end of an uninterruptible call; after that the thread is
  // left alone.
  bool stop(pid_t pid, pid_t tid, std::string& why);

  // Is that thread stopped by this object?
  bool has(pid_t tid) const;
  // Those of the stopped threads.
  std::vector<Registers> registers() const;

 private:
  struct Thread {
    pid_t tid;
    int signal;  // about to be delivered
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
