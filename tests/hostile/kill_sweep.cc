// SPDX-License-Identifier: MIT
// A recorder that is killed (SIGKILL) before or after any system call leaves nothing in the
// program.
//
//   kill_sweep BUILD direct|bpf|command calls|loop recorder|guard [all|OFFSET]
//
// direct, bpf: one program (programs/kill_sweep.lua) runs all the time. Recorders attach to it for
// 20 ms, one after the other; each is killed at another moment: at the Nth call of that name,
// before or after the kernel has executed it. Then the program must continue and compute the same
// as untraced, and soon nothing of the recorder may be in it or run. guard: its guard is killed
// instead, or stopped, or both are killed one after the other. command: each recorder starts such a
// program of its own; programs without a recorder are checked when they have had time to notice.
// From time to time a normal recording follows, and must be correct.
//
// all: every call. Otherwise every call that changes something outside the recorder and a sample of
// the others (through BPF and with a command: a sample of both), counted from OFFSET, which differs
// each time and is printed; with a loop, which occupies a processor, only calls that access the
// program.
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "tests/hostile/kill_moments.h"
#include "tests/hostile/swept_program.h"
#include "tests/hostile/syscall_tracer.h"

using namespace hostile;
using luatrace::record::monotonic_ns;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kRestoreLimit = 20 * kSecond;
constexpr unsigned kHangSeconds = 120;  // of one recorder
constexpr int kNoEvent = 124;           // status: the program has had no processor in that time
constexpr int kNotBegun = 125;          // status of a command whose recorder did not let it begin
constexpr size_t kNormalEvery = 12;     // kills between two normal recordings
constexpr size_t kLogEvery = 200;
constexpr double kRounds = 10;     // of a command
constexpr size_t kLingering = 40;  // up to so many commands that have lost their recorder

std::string scratch;  // a folder that is removed after the test

void remove_scratch() {
  std::error_code e;
  std::filesystem::remove_all(scratch, e);
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

std::vector<pid_t> own_children() {
  const std::string pid = std::to_string(getpid());
  std::istringstream in(read_file("/proc/self/task/" + pid + "/children"));
  std::vector<pid_t> all;
  for (pid_t child; in >> child;) all.push_back(child);
  return all;
}

std::string text_of(const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids)
    text += " " + std::to_string(pid) + " " + luatrace::record::read_proc(pid, "comm");
  return text;
}

// -- Recorders --

class Recorders {
 public:
  Recorders(std::string build, Selection selection)
      : build_(std::move(build)), selection_(selection) {}

 protected:
  using OnCall = std::function<void(const Stop&)>;

  std::string log() const { return scratch + "/log"; }
  std::string trace() const { return scratch + "/trace.bin"; }
  static std::string luajit() { return scratch + "/luajit"; }
  // Runs luatrace-record with these options.
  int run(std::vector<std::string> words, Follow follow, const OnCall& on_call) {
    words.insert(words.begin(), {build_ + "/bin/luatrace-record", "-o", trace()});
    std::filesystem::remove(log());
    alarm(kHangSeconds);
    const int status = trace_calls(words, log(), follow, on_call);
    alarm(0);
    return status;
  }
  std::vector<Moment> choose(const std::vector<Call>& calls, bool sample) const {
    Selection s = selection_;
    if (!sample) s.sample = 0;
    return s.choose(calls);
  }
  void expect_end(const std::string& when, int status, bool killed) {
    const bool by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const bool orderly = ended_orderly(status);
    if (killed ? !by_us && !orderly : !orderly)
      fail(when + ": the recorder ended with " + std::to_string(status) + ":\n" + read_file(log()));
    if (killed && by_us) count_kill();
  }
  static bool ended_orderly(int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNoEvent);
  }
  void expect_in_order(const std::string& when) const {
    const std::string query = build_ + "/bin/luatrace-analyze --json " + trace() +
                              " | jq -ec '.trust, (.functions | length), (.trust.anomalies == 0 "
                              "and .trust.lost == 0 and (.functions | length) > 0)' >" +
                              scratch + "/trust";
    if (std::system(query.c_str()) != 0)
      fail("the recording after " + when + " is not in order: " + read_file(scratch + "/trust") +
           read_file(log()));
  }
  void count_kill() {
    if (++killed_ % kLogEvery == 0) std::printf("%zu were killed\n", killed_), std::fflush(stdout);
  }
  void report(const char* what, size_t moments) {
    std::printf("%zu of %zu %s were killed\n", killed_, moments, what);
    if (killed_ * 10 < moments * 7) fail("too few");
    killed_ = 0;
  }

 private:
  std::string build_;
  Selection selection_;
  size_t killed_ = 0;
};

// -- Attaching --

class AttachSweep : Recorders {
 public:
  AttachSweep(const std::string& build, std::string via, const std::string& kind, Selection s)
      : Recorders(build, s),
        via_(std::move(via)),
        progress_(scratch + "/progress"),
        program_({luajit(), PROGRAMS "/kill_sweep.lua", kind, scratch + "/progress"}, progress_) {}

  // Empty if this method is possible here.
  std::string why_impossible() {
    const int status = record(Follow::kProgram, [](const Stop&) {});
    return ended_orderly(status) ? "" : read_file(log());
  }

  void recorders() {
    const auto moments = choose(profile(Follow::kProgram, false), true);
    for (const Moment& m : moments) {
      Watch watch(m);
      const int status = record(Follow::kProgram, [&](const Stop& s) {
        if (watch.is_now(s.call, s.after)) kill_at(m, s.program);
      });
      expect_end(m.text(), status, watch.met());
      restored("a recorder killed " + m.text());
    }
    report("recorders", moments.size());
  }

  // The guard is killed during the recording: the recorder continues and restores everything.
  void guards() {
    const auto moments = choose(profile(Follow::kChildren, true), false);
    for (const Moment& m : moments) {
      Watch watch(m);
      const int status = record(Follow::kChildren, [&](const Stop& s) {
        if (s.in_child && watch.is_now(s.call, s.after)) kill(s.child, SIGKILL);
      });
      if (watch.met()) count_kill();
      expect_end("guard " + m.text(), status, false);
      restored("a guard killed " + m.text());
    }
    report("guards", moments.size());
  }

  // The recorder is killed with everything switched on, then its guard while it restores: the
  // program notices by itself.
  void both() {
    const Moment first{{SYS_process_vm_writev}, 3, When::kBefore};
    std::vector<Call> calls;
    {
      Watch recorder(first);
      record(Follow::kChildren, [&](const Stop& s) {
        if (!s.in_child && recorder.is_now(s.call, s.after)) kill(s.program, SIGKILL);
        if (s.in_child && recorder.met() && !s.after) calls.push_back(s.call);
      });
      restored("a recorder killed " + first.text());
    }
    const auto moments = choose(calls, false);
    for (const Moment& m : moments) {
      Watch recorder(first), guard(m);
      record(Follow::kChildren, [&](const Stop& s) {
        if (!s.in_child && recorder.is_now(s.call, s.after)) kill(s.program, SIGKILL);
        if (s.in_child && recorder.met() && guard.is_now(s.call, s.after)) kill(s.child, SIGKILL);
      });
      if (guard.met()) count_kill();
      restored("recorder and guard killed, the guard " + m.text(), Forgotten::kClaim);
    }
    report("recorders with their guards", moments.size());
  }

  // The guard is stopped: the recorder ends in time nevertheless, and ends the guard, too.
  void stopped_guard() {
    Watch watch({{SYS_process_vm_writev}, 3, When::kBefore});
    const int status = record(Follow::kProgram, [&](const Stop& s) {
      if (watch.is_now(s.call, s.after) && s.child > 0) kill(s.child, SIGSTOP);
    });
    if (!watch.met()) fail("no guard was stopped");
    expect_end("its guard was stopped", status, false);
    restored("a guard stopped");
  }

 private:
  int record(Follow follow, const OnCall& on_call, double seconds = 0.02) {
    return run({"--via", via_, "-d", std::to_string(seconds), "--include", "*", "-p",
                std::to_string(program_.pid())},
               follow, on_call);
  }

  // All calls of a recording, or of its child's: of the shortest of some, since one whose Lua VM
  // answers late has more than most others.
  std::vector<Call> profile(Follow follow, bool child) {
    std::vector<Call> shortest = profile_once(follow, child);
    for (int i = 0; i < 2; i++)
      if (auto calls = profile_once(follow, child); calls.size() < shortest.size())
        shortest = std::move(calls);
    return shortest;
  }
  std::vector<Call> profile_once(Follow follow, bool child) {
    std::vector<Call> calls;
    const int status = record(follow, [&](const Stop& s) {
      if (!s.after && s.in_child == child) calls.push_back(s.call);
    });
    expect_end("nothing was killed", status, false);
    restored("a normal recording");
    return calls;
  }

  // The recorder's forked helpers end by themselves; they have become our children.
  std::string left_children() const {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const auto children = own_children();
    return children == std::vector{program_.pid()} ? "" : "children run:" + text_of(children);
  }

  void restored(const std::string& when, Forgotten forgotten = Forgotten::kNothing) {
    const uint64_t limit = monotonic_ns() + kRestoreLimit;
    std::string wrong = left_children() + program_.disturbed(forgotten);
    for (; !wrong.empty() && monotonic_ns() < limit; usleep(1000))
      wrong = left_children() + program_.disturbed(forgotten);
    for (const double rounds = progress_.rounds(); wrong.empty() && progress_.rounds() < rounds + 2;
         usleep(200))
      if (monotonic_ns() > limit) wrong = "it does not continue";
    if (!wrong.empty()) fail("after " + when + ": " + wrong);
    if (++checked_ % kNormalEvery == 0) record_normally(when);
  }

  void record_normally(const std::string& when) {
    int status = 0;
    for (double seconds = 0.03; seconds < 3; seconds *= 4) {
      status = record(
          Follow::kProgram, [](const Stop&) {}, seconds);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != kNoEvent) break;
    }
    expect_end("the next one after " + when, status, false);
    expect_in_order(when);
  }

  std::string via_;
  Progress progress_;
  SweptProgram program_;
  size_t checked_ = 0;
};

// -- Commands --

class CommandSweep : Recorders {
 public:
  // own_run: no other recorder makes its socket where these do.
  CommandSweep(const std::string& build, Selection s, bool own_run)
      : Recorders(build, s), own_run_(own_run) {
    Progress progress(scratch + "/progress");
    const SweptProgram model(words("progress"), progress);
    untouched_.first_descriptor = 3;  // those before differ
    untouched_.code = model.before().code;
    for (const auto& d : model.before().descriptors)
      if (std::atoi(d.c_str()) >= untouched_.first_descriptor) untouched_.descriptors.insert(d);
  }

  void recorders() {
    std::vector<Call> calls;
    record_normally("nothing", [&](const Stop& s) {
      if (!s.after) calls.push_back(s.call);
      return false;
    });
    const auto moments = choose(calls, true);
    for (const Moment& m : moments) {
      Watch watch(m);
      auto progress = std::make_unique<Progress>(scratch + "/" + name());
      const int status = record(*progress, [&](const Stop& s) {
        if (watch.is_now(s.call, s.after)) kill_at(m, s.program);
        return watch.met();
      });
      expect_end(m.text(), status, watch.met());
      meet_command("a recorder killed " + m.text(), std::move(progress));
      while (lost_.size() > kLingering) first_is_restored();
      if (++checked_ % kNormalEvery == 0)
        record_normally(m.text(), [](const Stop&) { return false; });
    }
    while (!lost_.empty()) first_is_restored();
    report("recorders of commands", moments.size());
  }

 private:
  // A command that runs without its recorder.
  struct Lost {
    std::string when;
    uint64_t limit_ns;
    std::unique_ptr<Progress> progress;
    std::unique_ptr<SweptProgram> program;
  };

  std::string name() const { return "progress" + std::to_string(checked_); }
  std::vector<std::string> words(const std::string& file) const {
    return {luajit(), PROGRAMS "/kill_sweep.lua", "slowly", scratch + "/" + file};
  }
  // is_killed: was the recorder killed, now or before? Otherwise the command ends after some
  // rounds.
  int record(Progress& progress, const std::function<bool(const Stop&)>& is_killed) {
    std::vector<std::string> all = {"--"};
    for (const auto& w : words(name())) all.push_back(w);
    return run(all, Follow::kProgram, [&](const Stop& s) {
      if (!is_killed(s) && progress.rounds() >= kRounds) progress.end();
    });
  }

  void record_normally(const std::string& when, const std::function<bool(const Stop&)>& on_call) {
    Progress progress(scratch + "/" + name());
    expect_end("the one after " + when, record(progress, on_call), false);
    expect_in_order(when);
    std::filesystem::remove(scratch + "/" + name());
  }

  bool is_known(pid_t pid) const {
    for (const Lost& l : lost_)
      if (l.program->pid() == pid) return true;
    return false;
  }

  // Children that have ended. A command without its recorder continues; one that was not allowed to
  // begin ends; helpers end by themselves.
  void reap(const std::string& when) const {
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      if (is_known(pid) || !WIFEXITED(status) ||
          (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != kNotBegun))
        fail("after " + when + ": a process has ended with " + std::to_string(status));
  }

  // Finds the command, if it has begun and does not end; waits until nothing else is left of the
  // recorder.
  void meet_command(const std::string& when, std::unique_ptr<Progress> progress) {
    std::vector<pid_t> others;
    const uint64_t limit = monotonic_ns() + kRestoreLimit;
    do {
      reap(when);
      others = own_children();
      std::erase_if(others, [&](pid_t pid) { return is_known(pid); });
      if (others.size() == 1 && progress->rounds() >= 1 && !progress->is_ending()) {
        auto program = std::make_unique<SweptProgram>(others[0], *progress, untouched_);
        lost_.push_back({when, limit, std::move(progress), std::move(program)});
        others.clear();
      }
      if (others.empty()) break;
      usleep(1000);
    } while (monotonic_ns() < limit);
    if (!others.empty()) fail("after " + when + ": children run:" + text_of(others));
    expect_no_socket(when, limit);
    std::filesystem::remove(scratch + "/" + name());
  }

  // The folder of a socket without a listener; empty: there is none.
  static std::string find_socket() {
    for (const char* folder : {"/run", scratch.c_str()}) {
      std::error_code e;
      for (const auto& f : std::filesystem::directory_iterator(folder, e))
        if (f.path().filename().string().starts_with("luatrace-")) return f.path();
    }
    return "";
  }
  void expect_no_socket(const std::string& when, uint64_t limit) const {
    while (own_run_ && !find_socket().empty() && monotonic_ns() < limit) usleep(1000);
    if (own_run_ && !find_socket().empty())
      fail("after " + when + ": " + find_socket() + " is left");
  }

  // Its settings came with its environment; the switch stays on for VMs that had no answer.
  void first_is_restored() {
    Lost& l = lost_.front();
    std::string wrong;
    do {
      reap(l.when);
      wrong = l.program->disturbed(Forgotten::kSwitch);
      if (!wrong.empty()) usleep(10000);
    } while (!wrong.empty() && monotonic_ns() < l.limit_ns);
    const uint64_t limit = monotonic_ns() + kRestoreLimit;
    for (const double rounds = l.progress->rounds();
         wrong.empty() && l.progress->rounds() < rounds + 2; usleep(1000))
      if (monotonic_ns() > limit) wrong = "it does not continue";
    if (!wrong.empty()) fail("after " + l.when + ": " + wrong);
    lost_.pop_front();
  }

  bool own_run_;
  Untouched untouched_;
  std::deque<Lost> lost_;
  size_t checked_ = 0;
};

// A /run of our own, where no other recorder makes its socket.
bool make_own_run() {
  setenv("XDG_RUNTIME_DIR", scratch.c_str(), 1);
  if (geteuid() != 0) return true;
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0;
}

Selection selection_of(const std::string& via, const std::string& kind, const char* how) {
  Selection s;
  s.all = how != nullptr && how == std::string("all");
  s.reaching = kind == "loop";
  if (via == "bpf") s.one_of = 12;  // one recording takes the kernel a second
  if (via == "command") s.one_of = 3;
  s.offset = how != nullptr ? std::strtoul(how, nullptr, 10) : monotonic_ns() / 1000 % 1000;
  if (!s.all) std::printf("offset %zu\n", s.offset);
  return s;
}

int attach_sweep(const std::string& build, const std::string& via, const std::string& kind,
                 const std::string& what, Selection selection) {
  AttachSweep sweep(build, via, kind, selection);
  if (const std::string why = sweep.why_impossible(); !why.empty()) {
    std::fprintf(stderr, "SKIP: %s", why.c_str());
    return via == "bpf" && geteuid() != 0 ? 77 : 1;
  }
  if (what == "recorder") sweep.recorders();
  if (what == "guard") sweep.stopped_guard(), sweep.guards(), sweep.both();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  close_range(3, ~0u, 0);  // a file of the test runner may get another name meanwhile
  if (argc < 5)
    return std::puts("kill_sweep BUILD direct|bpf|command calls|loop recorder|guard [all|OFFSET]"),
           2;
  const std::string via = argv[2], kind = argv[3];
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // the recorder's orphans become our children
  signal(SIGALRM, hangs);
  char name[] = "/tmp/kill_sweep.XXXXXX";
  if (mkdtemp(name) == nullptr) fail("no folder");
  scratch = name;
  std::atexit(remove_scratch);
  // A file of its own: recorders of other tests would lock the same one, and the calls that wait
  // for a lock would be calls to kill at.
  std::filesystem::copy_file(argv[1] + std::string("/bin/luajit"), scratch + "/luajit");
  const Selection selection = selection_of(via, kind, argc > 5 ? argv[5] : nullptr);
  if (via != "command") return attach_sweep(argv[1], via, kind, argv[4], selection);
  CommandSweep(argv[1], selection, make_own_run()).recorders();
  return 0;
}
