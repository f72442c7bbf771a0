// SPDX-License-Identifier: MIT
#include "recorder/os/stopped.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

// ns, for threads to stop. A thread that waits for a CPU stops when it gets one: a single thread
// may take long, several would delay one another.
constexpr uint64_t kStopLimit = 50'000'000, kStopLimitAlone = 1'000'000'000;
constexpr uint64_t kMomentLimit = 20'000'000;
constexpr uint64_t kDetachLimit = 2 * kSecond;  // then see detach_deferred()

// These calls do not notice a stop, whatever their arguments: the kernel restarts them. (Others end
// with EINTR, some only if their socket has a time limit.)
constexpr long kRestarted[] = {SYS_wait4,        SYS_waitid,          SYS_ppoll,    SYS_futex,
                               SYS_nanosleep,    SYS_clock_nanosleep, SYS_pselect6,
#ifdef SYS_poll
                               SYS_poll,         SYS_select,          SYS_pause,
#endif
                               SYS_rt_sigsuspend};

bool good_moment(pid_t pid, pid_t tid) {
  if (thread_state(pid, tid) != 'S') return true;
  const std::string call =
      read_proc(pid, ("task/" + std::to_string(tid) + "/syscall").c_str(), 4096);
  if (call.empty() || call[0] < '0' || call[0] > '9') return false;
  const long number = std::atol(call.c_str());
  return std::find(std::begin(kRestarted), std::end(kRestarted), number) != std::end(kRestarted);
}

// May we wait for its end, other than as its tracer?
bool is_our_child(pid_t tid) {
  siginfo_t end{};
  return waitid(P_PID, static_cast<id_t>(tid), &end, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool has_ended(const siginfo_t& info) {
  return info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
}

// status: of a stop, as in ptrace(2). Returns the signal that was about to be delivered, or 0.
int signal_of_stop(int status) {
  return status >> 8 == PTRACE_EVENT_STOP ? 0 : status & 0x7f;
}

// signal: to be delivered, or 0. False if it is not stopped (any more).
bool detach_thread(pid_t tid, int signal) {
  return ptrace(PTRACE_DETACH, tid, nullptr, reinterpret_cast<void*>(long{signal})) == 0;
}

#if defined(__x86_64__)
Registers by_role(const user_regs_struct& r) {
  return {r.rip, r.rdx, r.rbx, r.r14};
}
#elif defined(__aarch64__)
Registers by_role(const user_regs_struct& r) {
  return {r.pc, r.regs[19], r.regs[21], r.regs[22]};
}
#endif

}  // namespace

char thread_state(pid_t pid, pid_t tid) {
  const std::string stat = read_proc(pid, ("task/" + std::to_string(tid) + "/stat").c_str(), 4096);
  const size_t end = stat.rfind(") ");
  return end == stat.npos || end + 2 >= stat.size() ? 0 : stat[end + 2];
}

std::vector<pid_t> threads_of(pid_t pid) {
  return numbers_in("/proc/" + std::to_string(pid) + "/task");
}

bool has_running_thread(pid_t pid) {
  for (const pid_t tid : threads_of(pid))
    if (thread_state(pid, tid) == 'R') return true;
  return false;
}

bool stop_is_transparent(pid_t pid) {
  const auto threads = threads_of(pid);
  return !threads.empty() && std::all_of(threads.begin(), threads.end(), [pid](pid_t tid) {
    const char state = thread_state(pid, tid);
    return (state == 'R' || state == 'S') && good_moment(pid, tid);
  });
}

bool detach_deferred(pid_t tid, int wait_status) {
  if (!WIFSTOPPED(wait_status)) return false;
  detach_thread(tid, signal_of_stop(wait_status >> 8));
  return true;
}

StoppedThreads::~StoppedThreads() {
  // The first thread of a process that was killed meanwhile ends when all others are detached.
  std::for_each(threads_.rbegin(), threads_.rend(), detach);
}

// True also if it has ended.
bool StoppedThreads::seize(pid_t tid, std::string& why) {
  const bool ours = is_our_child(tid);
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    if (errno == ESRCH) return true;
    why = "its threads cannot be stopped for a moment: " + errno_text(errno);
    return false;
  }
  threads_.push_back({tid, 0, ours, false});
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  return true;
}

bool StoppedThreads::wait_for_all(std::string& why) {
  const uint64_t limit = monotonic_ns() + (threads_.size() == 1 ? kStopLimitAlone : kStopLimit);
  for (auto& t : threads_)
    if (!wait_for(t, limit)) why = "its threads did not stop in time";
  return why.empty();
}

bool StoppedThreads::stop_running(pid_t pid, std::string& why) {
  for (const pid_t tid : threads_of(pid))
    if (thread_state(pid, tid) == 'R' && !seize(tid, why)) return false;
  return wait_for_all(why);
}

bool StoppedThreads::stop_all(pid_t pid, std::string& why) {
  for (const pid_t tid : threads_of(pid))
    if (!seize(tid, why)) return false;
  return wait_for_all(why);
}

bool StoppedThreads::stop(pid_t pid, pid_t tid, std::string& why) {
  const uint64_t begin = monotonic_ns();
  for (uint64_t now = begin; now - begin < kStopLimitAlone; now = monotonic_ns()) {
    const bool uninterruptible = thread_state(pid, tid) == 'D';  // it would stop when that is over
    if (!uninterruptible && (good_moment(pid, tid) || now - begin > kMomentLimit))
      return seize(tid, why) && wait_for_all(why);
    usleep(uninterruptible ? 1000 : 100);
  }
  why = "a thread waits for something in the kernel and cannot be stopped";
  return false;
}

bool StoppedThreads::has(pid_t tid) const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [tid](const Thread& t) { return t.tid == tid && t.stopped; });
}

std::vector<Registers> StoppedThreads::registers() const {
  std::vector<Registers> all;
  for (const Thread& t : threads_) {
    user_regs_struct r{};
    iovec to{&r, sizeof r};
    if (t.stopped && ptrace(PTRACE_GETREGSET, t.tid, NT_PRSTATUS, &to) == 0)
      all.push_back(by_role(r));
  }
  return all;
}

// The end of our own child is left to the code that waits for it and needs its status. That of
// another process is reported to its parent only when the tracer has been notified (ptrace(2)). The
// first thread of a process reports its end only after all others, so it is checked twice: the end
// of another thread now shows at the next query.
bool StoppedThreads::wait_for(Thread& t, uint64_t limit) {
  const auto id = static_cast<id_t>(t.tid);
  constexpr int kTraced = __WALL | WNOHANG;
  for (bool dead = false;;) {
    siginfo_t info{};
    if (waitid(P_PID, id, &info, WEXITED | WSTOPPED | WNOWAIT | kTraced) != 0) return true;
    if (info.si_pid == t.tid && has_ended(info)) {
      if (!t.ours) waitid(P_PID, id, &info, WEXITED | kTraced);
      return true;
    }
    if (info.si_pid == t.tid) {
      t.signal = signal_of_stop(info.si_status);
      return t.stopped = true;
    }
    if (dead) return true;
    dead = thread_state(t.tid, t.tid) == 'Z';
    if (monotonic_ns() > limit) return false;
    usleep(20);
  }
}

// Only a stopped thread can be detached; one that we left would stop as soon as it gets a CPU, and
// stay stopped. So we wait for it, also on a busy machine, and after that watch for its stop
// (detach_deferred()). A thread that was killed meanwhile is no longer stopped.
void StoppedThreads::detach(Thread t) {
  const uint64_t limit = monotonic_ns() + kDetachLimit;
  do {
    if (!t.stopped) wait_for(t, limit);
    if (!t.stopped) return;
    t.stopped = detach_thread(t.tid, t.signal);
  } while (!t.stopped && monotonic_ns() < limit);
}

}  // namespace luatrace::record
