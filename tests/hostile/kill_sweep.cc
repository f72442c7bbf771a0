// SPDX-License-Identifier: MIT
// A recorder that is killed (SIGKILL) before or after any system call of an attachment leaves
// nothing in the program.
//
//   kill_sweep BUILD direct|bpf calls|loop recorder|guard [all]
//
// One program (programs/kill_sweep.lua) runs all the time. Recorders attach to it for 20 ms, one
// after the other; each is killed at another moment: at the Nth call of that name, before or after
// the kernel has executed it. Then the program must continue and compute the same as untraced, and
// soon nothing of the recorder may be in it or run. From time to time a normal recording follows,
// and must be correct. guard: its guard is killed instead, or stopped, or both are killed one after
// the other. Without `all`: every call that touches the program or the system, and a sample of the
// others; with a loop, which occupies a processor, only calls that affect the program.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "tests/hostile/left_behind.h"
#include "tests/hostile/syscall_tracer.h"

using namespace hostile;
using luatrace::record::monotonic_ns;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr unsigned kHangSeconds = 120;  // of one recorder
constexpr size_t kSample = 24;          // one of this many calls without effect on the program
constexpr int kNoEvent = 124;           // status: the program has had no processor in that time
constexpr useconds_t kDuringUs = 300;
constexpr size_t kUsualEvery = 12;  // kills between two recordings as usual

// Calls that change something outside of the recorder's own memory, or its place among processes.
const std::set<long> kTouching = {SYS_process_vm_writev,
                                  SYS_ptrace,
                                  SYS_kill,
                                  SYS_tgkill,
                                  SYS_ioctl,
                                  SYS_bpf,
                                  SYS_perf_event_open,
                                  SYS_pidfd_open,
                                  SYS_socket,
                                  SYS_socketpair,
                                  SYS_bind,
                                  SYS_listen,
                                  SYS_connect,
                                  SYS_sendmsg,
                                  SYS_recvmsg,
                                  SYS_sendto,
                                  SYS_ftruncate,
                                  SYS_unlink,
                                  SYS_unlinkat,
                                  SYS_rmdir,
                                  SYS_mkdir,
                                  SYS_fork,
                                  SYS_vfork,
                                  SYS_clone,
                                  SYS_clone3,
                                  SYS_prctl,
                                  SYS_rt_sigprocmask,
                                  SYS_wait4,
                                  SYS_waitid,
                                  SYS_flock,
                                  SYS_dup2,
                                  SYS_pwrite64,
                                  SYS_setsid,
                                  SYS_memfd_create,
                                  SYS_exit_group};

// Those of them that reach into the program's memory, or stop it.
const std::set<long> kReaching = {SYS_process_vm_writev, SYS_ptrace, SYS_kill, SYS_tgkill};

// Those of them after which the kernel is at work for milliseconds: links of probes are made and
// ended, by this process or by its guard.
const std::set<Call> kLong = {
    {SYS_bpf, true},   {SYS_close, true},   {SYS_perf_event_open, true},
    {SYS_ioctl, true}, {SYS_sendto, false}, {SYS_process_vm_writev, false}};

bool touches(const Call& call) {
  return call.writes || kTouching.contains(call.number);
}

std::string scratch;  // a folder that is gone after the test

void remove_scratch() {
  std::error_code e;
  std::filesystem::remove_all(scratch, e);
}

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "FAIL: %s\n", text.c_str());
  std::exit(1);
}

void hangs(int) {
  constexpr char text[] = "FAIL: a recorder has not ended\n";
  const ssize_t n = write(2, text, sizeof text - 1);
  _exit(n > 0 ? 1 : 2);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// -- The program --

class Program {
 public:
  Program(const std::string& luajit, const std::string& script, const std::string& kind,
          const std::string& file) {
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 16) != 0) fail(file);
    told_ = static_cast<volatile double*>(mmap(nullptr, 16, PROT_READ, MAP_SHARED, fd, 0));
    close(fd);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execl(luajit.c_str(), luajit.c_str(), script.c_str(), kind.c_str(), file.c_str(), nullptr);
      _exit(99);
    }
    const uint64_t limit = monotonic_ns() + 20 * kSecond;
    while (told_[0] < 3 && monotonic_ns() < limit) usleep(1000);
    if (told_[0] < 3) fail("the program does not begin");
    descriptors_ = descriptors();
    code_ = code_of(pid_);
    if (code_.empty()) fail("its code cannot be read");
  }
  ~Program() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  double rounds() const { return told_[0]; }

  // The differences from its original state; empty: none. forgotten: what nobody could take
  // back (the claim, the settings) may be there.
  std::string disturbed(bool forgotten) const {
    if (told_[1] != 0) return "it has computed something else";
    LeftBehind left;
    std::string why;
    if (!look_at(pid_, left, why)) return why;
    if (left.ring != 0) return "its switch is on";
    if (!forgotten && left.owner) return "the claim is left";
    if (!forgotten && left.settings) return "the settings are left";
    if (left.probes != 0) return "tracers of its probes: " + std::to_string(left.probes);
    if (left.states == 0) return "it has no Lua VM";
    if (left.on != 0) return "a Lua VM is on";
    if (left.patched != 0) return "patched slots: " + std::to_string(left.patched);
    const std::string maps = luatrace::record::read_proc(pid_, "maps");
    if (maps.find("luatrace-ring") != maps.npos) return "it has a ring";
    if (descriptors() != descriptors_) return "its descriptors are others";
    if (const std::string why = changed_code(); !why.empty()) return why;
    return stopped();
  }

 private:
  std::set<std::string> descriptors() const {
    std::set<std::string> all;
    std::error_code e;
    for (const auto& f :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd", e))
      all.insert(f.path().filename().string() + luatrace::record::read_link(f.path()));
    return all;
  }
  std::string changed_code() const {
    const std::string now = code_of(pid_);
    if (now == code_) return "";
    size_t at = 0;
    while (at < std::min(now.size(), code_.size()) && now[at] == code_[at]) at++;
    std::string text = "its code is changed, from byte " + std::to_string(at) + ":";
    char byte[8];
    for (size_t i = at; i < std::min(now.size(), at + 8); i++)
      text += (std::snprintf(byte, sizeof byte, " %02x", now[i] & 0xff), byte);
    return text;
  }
  std::string stopped() const {
    const std::string status = luatrace::record::read_proc(pid_, "status");
    const size_t state = status.find("\nState:\t"), tracer = status.find("\nTracerPid:\t");
    if (state == status.npos || tracer == status.npos) return "it has no status";
    if (std::strchr("RSD", status[state + 8]) == nullptr)
      return std::string("its state is ") + status[state + 8];
    return status[tracer + 12] == '0' ? "" : "a process traces it";
  }

  pid_t pid_;
  volatile double* told_;
  std::set<std::string> descriptors_;
  std::string code_;
};

// -- The sweep --

enum class When { kBefore, kDuring, kAfter };

struct Moment {
  Call call;
  size_t turn;  // 1: the first such call
  When when;
  std::string text() const {
    const char* const words[] = {"before ", "in ", "after "};
    return words[static_cast<int>(when)] + name_of(call) + " " + std::to_string(turn);
  }
};

// During a call: its thread is in the kernel when the signal comes, if it takes that long.
void kill_at(const Moment& moment, pid_t pid) {
  if (moment.when != When::kDuring) {
    kill(pid, SIGKILL);
    return;
  }
  std::thread([pid] {
    usleep(kDuringUs);
    kill(pid, SIGKILL);
  }).detach();
}

// Counts calls; true when the moment has come, once.
class Watch {
 public:
  explicit Watch(const Moment& moment) : moment_(moment) {}
  bool is_now(const Call& call, bool after) {
    if (met_ || call != moment_.call) return false;
    if (!after) turns_++;
    return met_ = turns_ == moment_.turn && after == (moment_.when == When::kAfter);
  }
  bool met() const { return met_; }

 private:
  Moment moment_;
  size_t turns_ = 0;
  bool met_ = false;
};

class Sweep {
 public:
  Sweep(std::string build, std::string via, const std::string& kind, bool all)
      : build_(std::move(build)),
        via_(std::move(via)),
        loops_(kind == "loop"),
        all_(all),
        program_(build_ + "/bin/luajit", PROGRAMS "/kill_sweep.lua", kind, scratch + "/told") {}

  // Is this way of recording possible here? Empty, or why not.
  std::string able() {
    const int status = trace_calls(recorder(0.02), log(), Follow::kProgram, [](const Stop&) {});
    return ended_orderly(status) ? "" : read_file(log());
  }

  void recorders() { kill_recorders(choose(profile(Follow::kProgram, false), true)); }

  // The guard dies while the recorder records: the recorder goes on and takes everything back.
  void guards() {
    const auto moments = choose(profile(Follow::kChildren, true), false);
    for (const Moment& m : moments) {
      Watch watch(m);
      const int status = run(Follow::kChildren, [&](const Stop& s) {
        if (s.in_child && watch.is_now(s.call, s.after)) kill(s.child, SIGKILL);
      });
      killed_ += watch.met() ? 1 : 0;
      expect_end("guard " + m.text(), status, false);
      healed("a guard killed " + m.text(), false);
    }
    report("guards", moments.size());
  }

  // The recorder dies with everything switched on, then its guard on the way back: the program
  // notices by itself.
  void both() {
    const Moment first{{SYS_process_vm_writev}, 3, When::kBefore};
    std::vector<Call> calls;
    {
      Watch recorder(first);
      run(Follow::kChildren, [&](const Stop& s) {
        if (!s.in_child && recorder.is_now(s.call, s.after)) kill(s.program, SIGKILL);
        if (s.in_child && recorder.met() && !s.after) calls.push_back(s.call);
      });
      healed("a recorder killed " + first.text(), false);
    }
    const auto moments = choose(calls, false);
    for (const Moment& m : moments) {
      Watch recorder(first), guard(m);
      run(Follow::kChildren, [&](const Stop& s) {
        if (!s.in_child && recorder.is_now(s.call, s.after)) kill(s.program, SIGKILL);
        if (s.in_child && recorder.met() && guard.is_now(s.call, s.after)) kill(s.child, SIGKILL);
      });
      killed_ += guard.met() ? 1 : 0;
      healed("recorder and guard killed, the guard " + m.text(), true);
    }
    report("recorders with their guards", moments.size());
  }

  // Somebody stops the guard: the recorder ends in time all the same, and takes it along.
  void stopped_guard() {
    Watch watch({{SYS_process_vm_writev}, 3, When::kBefore});
    const int status = run(Follow::kProgram, [&](const Stop& s) {
      if (watch.is_now(s.call, s.after)) kill(s.child, SIGSTOP);
    });
    if (!watch.met()) fail("no guard was stopped");
    expect_end("its guard was stopped", status, false);
    healed("a guard stopped", false);
  }

 private:
  std::string log() const { return scratch + "/log"; }
  std::string trace() const { return scratch + "/trace.bin"; }
  std::vector<std::string> recorder(double seconds) const {
    return {build_ + "/bin/luatrace-record",
            "--via",
            via_,
            "-d",
            std::to_string(seconds),
            "--include",
            "*",
            "-o",
            trace(),
            "-p",
            std::to_string(program_.pid())};
  }
  int run(Follow follow, const std::function<void(const Stop&)>& on_call) {
    std::filesystem::remove(log());
    alarm(kHangSeconds);
    const int status = trace_calls(recorder(0.02), log(), follow, on_call);
    alarm(0);
    return status;
  }

  void kill_recorders(const std::vector<Moment>& moments) {
    for (const Moment& m : moments) {
      Watch watch(m);
      const int status = run(Follow::kProgram, [&](const Stop& s) {
        if (watch.is_now(s.call, s.after)) kill_at(m, s.program);
      });
      expect_end(m.text(), status, watch.met());
      healed("a recorder killed " + m.text(), false);
    }
    report("recorders", moments.size());
  }

  // All calls of a recording, or of its child's.
  std::vector<Call> profile(Follow follow, bool child) {
    std::vector<Call> calls;
    const int status = run(follow, [&](const Stop& s) {
      if (!s.after && s.in_child == child) calls.push_back(s.call);
    });
    expect_end("nothing was killed", status, false);
    healed("a recording as usual", false);
    return calls;
  }

  // Through BPF one recording takes the kernel a second: fewer of them.
  bool is_wanted(const Call& call, size_t i, bool sample) const {
    if (all_) return true;
    if (loops_) return kReaching.contains(call.number);
    if (kLong.contains(call)) return true;
    const size_t one_of = via_ == "bpf" ? kSample / 2 : 1;
    return touches(call) ? i % one_of == 0 : sample && i % (kSample * one_of) == 0;
  }

  std::vector<Moment> choose(const std::vector<Call>& calls, bool sample) const {
    std::map<Call, size_t> turns;
    std::vector<Moment> moments;
    for (size_t i = 0; i < calls.size(); i++) {
      const size_t turn = ++turns[calls[i]];
      if (!is_wanted(calls[i], i, sample)) continue;
      moments.push_back({calls[i], turn, When::kBefore});
      if (calls[i].number != SYS_exit_group) moments.push_back({calls[i], turn, When::kAfter});
      if (kLong.contains(calls[i])) moments.push_back({calls[i], turn, When::kDuring});
    }
    return moments;
  }

  void expect_end(const std::string& when, int status, bool killed) {
    const bool by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const bool orderly = ended_orderly(status);
    if (killed ? !by_us && !orderly : !orderly)
      fail(when + ": the recorder ended with " + std::to_string(status) + ":\n" + read_file(log()));
    killed_ += killed && by_us ? 1 : 0;
  }

  static bool ended_orderly(int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNoEvent);
  }
  // The recorder's forked helpers end by themselves; they have become our children.
  std::string beside() const {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::string pid = std::to_string(getpid());
    const std::string children = read_file("/proc/self/task/" + pid + "/children");
    return children == std::to_string(program_.pid()) + " " ? "" : "children run: " + children;
  }

  void healed(const std::string& when, bool forgotten) {
    const uint64_t limit = monotonic_ns() + 20 * kSecond;
    std::string wrong = beside() + program_.disturbed(forgotten);
    for (; !wrong.empty() && monotonic_ns() < limit; usleep(1000))
      wrong = beside() + program_.disturbed(forgotten);
    for (const double rounds = program_.rounds(); wrong.empty() && program_.rounds() < rounds + 2;
         usleep(200))
      if (monotonic_ns() > limit) wrong = "it stands still";
    if (!wrong.empty()) fail("after " + when + ": " + wrong);
    if (++checked_ % kUsualEvery == 0) as_usual(when);
  }

  void as_usual(const std::string& when) {
    int status = 0;
    for (double seconds = 0.03; seconds < 3; seconds *= 4) {
      std::filesystem::remove(log());
      alarm(kHangSeconds);
      status = trace_calls(recorder(seconds), log(), Follow::kProgram, [](const Stop&) {});
      alarm(0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != kNoEvent) break;
    }
    expect_end("the next one after " + when, status, false);
    const std::string query = build_ + "/bin/luatrace-analyze --json " + trace() +
                              " | jq -e '.trust.anomalies == 0 and .trust.lost == 0 and "
                              "(.functions | length) > 0' >/dev/null";
    if (std::system(query.c_str()) != 0) fail("the recording after " + when + " is not in order");
  }

  void report(const char* what, size_t moments) {
    std::printf("%zu of %zu %s were killed\n", killed_, moments, what);
    if (killed_ * 10 < moments * 7) fail("too few");
    killed_ = 0;
  }

  std::string build_, via_;
  bool loops_, all_;
  Program program_;
  size_t killed_ = 0, checked_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::puts("kill_sweep BUILD direct|bpf calls|loop recorder|guard [all]"), 2;
  const std::string via = argv[2], what = argv[4];
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // the recorder's orphans become our children
  signal(SIGALRM, hangs);
  char name[] = "/tmp/kill_sweep.XXXXXX";
  if (mkdtemp(name) == nullptr) fail("no folder");
  scratch = name;
  std::atexit(remove_scratch);
  Sweep sweep(argv[1], via, argv[3], argc > 5);
  if (const std::string why = sweep.able(); !why.empty()) {
    std::fprintf(stderr, "SKIP: %s", why.c_str());
    return via == "bpf" && geteuid() != 0 ? 77 : 1;
  }
  if (what == "recorder") sweep.recorders();
  if (what == "guard") sweep.stopped_guard(), sweep.guards(), sweep.both();
  return 0;
}
