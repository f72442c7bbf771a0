// SPDX-License-Identifier: MIT
// Kick; see kick.h.
#include "recorder/direct/kick.h"

#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "recorder/clock.h"
#include "recorder/process.h"
#include "recorder/text.h"

namespace luatrace::direct {
namespace {

// ns, for threads to stop. One that waits for a CPU stops when it gets it: alone it may take its
// time, several would hold one another up.
constexpr uint64_t kStopLimit = 50'000'000, kStopLimitAlone = 1'000'000'000;
constexpr uint8_t kHookVmevent = 0x20, kHookGc = 0x40;  // lj_obj.h

char thread_state(pid_t pid, pid_t tid) {
  const std::string stat = read_proc(pid, ("task/" + std::to_string(tid) + "/stat").c_str(), 4096);
  const size_t end = stat.rfind(") ");
  return end == stat.npos || end + 2 >= stat.size() ? 0 : stat[end + 2];
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> all;
  DIR* const dir = opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
  if (dir == nullptr) return all;
  while (const dirent* e = readdir(dir))
    if (e->d_name[0] >= '1' && e->d_name[0] <= '9') all.push_back(std::atoi(e->d_name));
  closedir(dir);
  return all;
}

// Threads of a process that are held in a stop. Whatever happens they are let go.
class Stopped {
 public:
  ~Stopped() {
    for (const auto& t : threads_) let_go(t);
  }

  bool stop_running(pid_t pid, std::string& why) {
    for (const pid_t tid : threads_of(pid)) {
      if (thread_state(pid, tid) != 'R') continue;
      if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
        if (errno == ESRCH) continue;
        why = "its threads cannot be stopped for a moment: " + errno_text(errno);
        return false;
      }
      threads_.push_back({tid, 0, false});
      ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    }
    const uint64_t limit = monotonic_ns() + (threads_.size() == 1 ? kStopLimitAlone : kStopLimit);
    for (auto& t : threads_)
      if (!wait_for(t, limit)) why = "its threads did not stop in time";
    return why.empty();
  }

 private:
  struct Thread {
    pid_t tid;
    int signal;  // that was about to be delivered
    bool stopped;
  };

  static bool wait_for(Thread& t, uint64_t limit) {
    for (;;) {
      int status = 0;
      const pid_t got = waitpid(t.tid, &status, __WALL | WNOHANG);
      if (got < 0) return true;  // gone
      if (got == t.tid) {
        if (!WIFSTOPPED(status)) return true;
        const bool event = status >> 16 == PTRACE_EVENT_STOP;
        t.signal = event ? 0 : WSTOPSIG(status);
        return t.stopped = true;
      }
      if (monotonic_ns() > limit) return false;
      usleep(20);
    }
  }

  // Only a thread that is stopped can be let go; one that we left would stop as soon as it gets a
  // CPU, and stay so. So it is waited for, however busy the machine is.
  static void let_go(Thread t) {
    if (!t.stopped) wait_for(t, monotonic_ns() + 30 * kStopLimitAlone);
    if (t.stopped) ptrace(PTRACE_DETACH, t.tid, nullptr, reinterpret_cast<void*>(long{t.signal}));
  }

  std::vector<Thread> threads_;
};

bool flag_state(const Target& target, const State& s) {
  const uint64_t flag =
      s.address + static_cast<uint64_t>(target.image().note.lt_stop) + 3;  // topmost byte
  uint8_t top = 0;
  if (target.memory().read(flag, top) != 0) return false;
  top |= LT_STOP_KICK >> 24;
  return target.memory().write(flag, top) == 0;
}

bool kick_state(const Target& target, const State& s) {
  const lt_note& n = target.image().note;
  const std::vector<uint64_t> slots(n.nslots, target.image().poll);
  const uint64_t table = s.address + static_cast<uint64_t>(static_cast<int64_t>(n.dispatch));
  return flag_state(target, s) &&
         target.memory().write(table, slots.data(), slots.size() * sizeof slots[0]) == 0;
}

}  // namespace

bool has_running_thread(pid_t pid) {
  for (const pid_t tid : threads_of(pid))
    if (thread_state(pid, tid) == 'R') return true;
  return false;
}

Silence why_silent(const Target& target, const State& state) {
  const lt_note& n = target.image().note;
  const pid_t pid = target.memory().pid();
  bool running = false, stopped = false;
  for (const pid_t tid : threads_of(pid)) {
    const char s = thread_state(pid, tid);
    running = running || s == 'R';
    stopped = stopped || s == 'T' || s == 't';
  }
  if (stopped) return Silence::kStopped;
  const auto part = [&](int32_t offset) {
    return state.address + static_cast<uint64_t>(static_cast<int64_t>(offset));
  };
  uint64_t jit_base = 0;
  uint8_t hooks = 0;
  uint32_t jit = 0;
  target.memory().read(part(n.g + n.g_jit_base), jit_base);
  target.memory().read(part(n.g + n.g_hookmask), hooks);
  if (n.jit_state >= 0) target.memory().read(part(n.jit + n.jit_state), jit);
  if (jit_base != 0) return running ? Silence::kCompiled : Silence::kSleeps;
  if ((hooks & (kHookGc | kHookVmevent)) != 0) return Silence::kHandler;
  if (!running) return Silence::kSleeps;
  return jit != 0 ? Silence::kRecording : Silence::kRuns;
}

const char* silence_text(Silence s) {
  switch (s) {
    case Silence::kSleeps:
      return "it sleeps, and answers when it runs Lua code next";
    case Silence::kCompiled:
      return "it is in compiled code that makes no call of C, allocates nothing and does not leave "
             "its trace; it answers when it does";
    case Silence::kRecording:
      return "its compiler is at work";
    case Silence::kHandler:
      return "it is inside of a finalizer or of a handler of the VM's events";
    case Silence::kStopped:
      return "the process is stopped, by a signal or a debugger";
    case Silence::kRuns:
      return "the process runs something else, or waits for a CPU";
  }
  return "";
}

bool flag(const Target& target, const std::vector<State>& states) {
  bool good = true;
  for (const auto& s : states) good = flag_state(target, s) && good;
  return good;
}

std::string kick(const Target& target, const std::vector<State>& states) {
  Stopped stopped;
  std::string why;
  if (!stopped.stop_running(target.memory().pid(), why)) return why;
  for (const auto& s : states)
    if (!kick_state(target, s)) return "its dispatch tables cannot be written";
  return "";
}

}  // namespace luatrace::direct
