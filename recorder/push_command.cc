// SPDX-License-Identifier: MIT
// Each window is recorded by a process of its own, a fork of this one, into a file in a folder that
// only we can read; luatrace-analyze pushes it while the next one is recorded. Invariants: nothing
// is recorded before luatrace-analyze has accepted the options; one window and one push at a time;
// up to kMaxWaiting files wait for their push, then the oldest is dropped and counted; the folder
// is gone when this process has ended by itself; the status is not 0 if a window is missing.
#include "recorder/push_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "base/escape.h"
#include "cli/execute.h"
#include "recorder/backend/backend.h"
#include "recorder/os/clock.h"
#include "recorder/os/text.h"
#include "recorder/session.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxWaiting = 4;
constexpr double kEventWindow = 1;              // seconds of events, unless -d says it
constexpr uint64_t kLastPushNs = 60 * kSecond;  // for what waits at the end
constexpr int kMissing = 1;                     // status: windows are missing at the server
constexpr int kRefusedOptions = 1;              // that of luatrace-analyze

uint64_t ns_of(double seconds) {
  return static_cast<uint64_t>(seconds * 1e9);
}

class Windows {
 public:
  explicit Windows(const Options& options);
  ~Windows();
  int run();

 private:
  bool takes_options();
  pid_t spawn_analyzer(const std::string& file, const std::string& messages = "") const;
  void end();
  void begin_window();
  void begin_push();
  void drop_oldest();
  void wait_until(uint64_t end_ns, const pid_t& child);
  void take_signal(int number);
  void reap();
  void window_ended(int status);
  void push_ended(int status);

  const Options& options_;
  const double window_;  // seconds
  std::string folder_;
  sigset_t signals_, before_;
  uint64_t number_ = 0, pushed_ = 0, dropped_ = 0, failed_ = 0;
  std::string file_;  // of the window that is being recorded
  std::deque<std::string> waiting_;
  pid_t recorder_ = 0, pusher_ = 0;  // 0: none runs
  bool stop_ = false;
  bool last_failed_ = false;  // the last push
  int status_ = 0;
};

Windows::Windows(const Options& options)
    : options_(options),
      window_(options.seconds > 0      ? options.seconds
              : options.sample_hz != 0 ? options.every
                                       : std::min(kEventWindow, options.every)) {
  const char* const temporary = getenv("TMPDIR");
  folder_ = std::string(temporary && *temporary ? temporary : "/tmp") + "/luatrace-push.XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr)
    throw std::runtime_error(printable(folder_) + ": " + std::strerror(errno));
  sigemptyset(&signals_);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals_, s);
  sigprocmask(SIG_BLOCK, &signals_, &before_);
}

Windows::~Windows() {
  std::error_code none;
  std::filesystem::remove_all(folder_, none);
}

int Windows::run() {
  if (!takes_options()) return 125;
  while (!stop_) {
    const uint64_t next = monotonic_ns() + ns_of(options_.every);
    begin_window();
    wait_until(UINT64_MAX, recorder_);
    begin_push();
    static const pid_t kNone = -1;
    if (!stop_) wait_until(next, kNone);
  }
  end();
  return status_;
}

// Pushes what waits. With a spool the push that succeeds sends what could not be sent before.
void Windows::end() {
  const uint64_t end = monotonic_ns() + kLastPushNs;
  while ((pusher_ != 0 || !waiting_.empty()) && monotonic_ns() < end) {
    begin_push();
    wait_until(end, pusher_);
  }
  if (pusher_ != 0) kill(pusher_, SIGTERM);
  failed_ += waiting_.size();
  if (!options_.quiet)
    log("--push: " + counted(pushed_, "window") + " pushed, " + grouped(failed_) + " not");
  const auto& words = options_.push_options;
  const bool spools = std::find(words.begin(), words.end(), "--push-spool") != words.end();
  const bool failed = spools ? last_failed_ || !waiting_.empty() : failed_ > 0;
  if (status_ == 0 && (dropped_ > 0 || failed)) status_ = kMissing;
}

// A fork of ours records it: every window begins with the same state.
void Windows::begin_window() {
  file_ = folder_ + "/" + std::to_string(++number_) + ".bin";
  recorder_ = fork();
  if (recorder_ < 0)
    throw std::runtime_error(std::string("cannot create a process: ") + std::strerror(errno));
  if (recorder_ > 0) return;
  sigprocmask(SIG_SETMASK, &before_, nullptr);
  int status = 125;
  try {
    Options o = options_;
    o.output = file_;
    o.seconds = window_;
    o.quiet = true;
    status = Session(std::move(o)).run();
  } catch (const std::exception& e) {
    log(e.what());
  }
  _exit(status);
}

// luatrace-analyze is asked with an empty file, which it never pushes: it looks at options first.
bool Windows::takes_options() {
  const std::string empty = folder_ + "/empty", messages = folder_ + "/messages";
  close(open(empty.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const pid_t pid = spawn_analyzer(empty, messages);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kRefusedOptions) return true;
  std::ifstream text(messages);
  for (std::string line; std::getline(text, line);) std::cerr << line << '\n';
  return false;
}

void Windows::begin_push() {
  if (pusher_ == 0 && !waiting_.empty()) pusher_ = spawn_analyzer(waiting_.front());
}

// messages: a file for what it prints on standard error, instead of ours.
pid_t Windows::spawn_analyzer(const std::string& file, const std::string& messages) const {
  const std::string program = program_beside_us("luatrace-analyze");
  std::vector<std::string> words = {program, "-q", file, "--push", options_.push};
  words.insert(words.end(), options_.push_options.begin(), options_.push_options.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before_);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!messages.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_CREAT | O_WRONLY,
                                     0600);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::runtime_error(program + ": " + std::strerror(error));
  return pid;
}

// Until then, or until that child has ended (-1: none), or a signal ends everything.
void Windows::wait_until(uint64_t end_ns, const pid_t& child) {
  while (child != 0 && !(stop_ && child < 0)) {
    const uint64_t now = monotonic_ns();
    if (now >= end_ns) return;
    const uint64_t left = std::min(end_ns - now, kSecond);
    const timespec time{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
    if (const int number = sigtimedwait(&signals_, nullptr, &time); number > 0) take_signal(number);
    reap();
  }
}

void Windows::take_signal(int number) {
  if (number == SIGCHLD) return;
  stop_ = true;
  if (recorder_ > 0) kill(recorder_, SIGINT);
}

void Windows::reap() {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == recorder_) window_ended(status);
    if (pid == pusher_) push_ended(status);
  }
}

// The first one shows whether there is anything to record; later ones may find nothing.
void Windows::window_ended(int status) {
  recorder_ = 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 125;
  struct stat st {};
  const bool empty = code == static_cast<int>(Refusal::kNoEvents);
  if (stat(file_.c_str(), &st) == 0 && st.st_size > 0 && !empty)
    waiting_.push_back(file_);
  else
    unlink(file_.c_str());
  if (waiting_.size() > kMaxWaiting) drop_oldest();
  const bool gone = code == static_cast<int>(Refusal::kNoProcess);
  if (code == 0 || empty || (number_ > 1 && !gone)) return;
  stop_ = true;
  if (number_ == 1) status_ = code;
}

void Windows::drop_oldest() {
  if (dropped_++ == 0) log("--push: a window is dropped: pushing takes longer than --every");
  unlink(waiting_[pusher_ != 0].c_str());
  waiting_.erase(waiting_.begin() + (pusher_ != 0));
}

// luatrace-analyze has said what was wrong.
void Windows::push_ended(int status) {
  pusher_ = 0;
  last_failed_ = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  last_failed_ ? failed_++ : pushed_++;
  unlink(waiting_.front().c_str());
  waiting_.pop_front();
  begin_push();
}

}  // namespace

int push_windows(const Options& options) {
  return Windows(options).run();
}

}  // namespace luatrace::record
