// SPDX-License-Identifier: MIT
// Session: starting, the loop, ending. The file is opened before the command runs, so that nothing
// runs in vain, but emptied only when the command really runs, so that a slip of the pen does not
// cost an older trace.
// Ending: first everything is detached (kStopping), which does not wait for the disk; then what is
// held is written (kWriting).
#include "recorder/session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <stdexcept>

#include "recorder/os/command.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStopGrace = kSecond / 4;  // for rings to be closed after a request
constexpr uint64_t kQuietGrace = kSecond;     // for attached processes to let go
constexpr uint64_t kExitGrace = 2 * kSecond;  // for a command that was told to end
// To write what is held when the recording was ended from outside; then to tell the file what is
// missing; and the same for one who does not want to wait.
constexpr uint64_t kWriteLimit = 10 * kSecond, kLastWords = kSecond;
constexpr uint64_t kHurriedLimit = kSecond * 3 / 20, kHurriedWords = kSecond / 5;
constexpr uint64_t kLeaveLimit =
    kSecond * 9 / 20;  // after the second signal; below Signals::kLeaveMs

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& p : parts) all += (all.empty() ? "" : "\n") + p;
  return all;
}

// Values are one line each.
std::string note_line(const std::string& key, std::string value) {
  for (size_t at = 0; (at = value.find('\n', at)) != value.npos; at += 2)
    value.replace(at, 1, "\\n");
  return key + "=" + value + "\n";
}

std::string date_text() {
  char text[32];
  const time_t now = time(nullptr);
  tm utc{};
  gmtime_r(&now, &utc);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)), clock_(default_clock()), start_(sample_clocks(clock_)) {}

Session::~Session() {
  drainer_.reset();  // jobs that wait are run: they must not use drainer_
  for (auto& t : traced_)
    if (t.pidfd >= 0) close(t.pidfd);
  if (opened_fd_ >= 0) close(opened_fd_);
}

// -- Starting --

bool Session::open_output(pid_t pid) {
  if (options_.output == "-") {
    opened_name_ = "standard output";
    if (isatty(STDOUT_FILENO)) {
      open_error_ = "-o -: standard output is a terminal; redirect it or name a file";
      return false;
    }
    opened_fd_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    trace_stdout_ = opened_fd_;
  } else {
    opened_name_ = expand_pid(options_.output, pid);
    opened_ = luatrace::open_output(opened_name_);
    opened_fd_ = opened_.fd;
  }
  if (opened_fd_ >= 0) return true;
  open_error_ = opened_name_ + ": cannot open for writing: " +
                (opened_.why.empty() ? errno_text(errno) : opened_.why);
  return false;
}

// The file that was made for nothing.
void Session::remove_opened() const {
  if (opened_.created) remove_output(opened_name_, opened_);
}

std::vector<std::pair<std::string, std::string>> Session::environment() const {
  std::vector<std::pair<std::string, std::string>> e = {{LT_ENV_SOCKET, listener_->path()}};
  if (!options_.include.empty()) e.emplace_back(LT_ENV_INCLUDE, joined(options_.include));
  if (!options_.exclude.empty()) e.emplace_back(LT_ENV_EXCLUDE, joined(options_.exclude));
  if (!options_.c_functions.empty()) e.emplace_back(LT_ENV_CFUNCS, options_.c_functions);
  if (options_.ring_size != 0) e.emplace_back(LT_ENV_RING, std::to_string(options_.ring_size));
  if (options_.block) e.emplace_back(LT_ENV_BLOCK, "1");
  return e;
}

std::string Session::note() const {
  utsname host{};
  uname(&host);
  std::string text = note_line("recorder", std::string("luatrace-record ") + version_text());
  text += note_line("kernel", std::string(host.sysname) + " " + host.release + " " + host.machine);
  text += note_line("cpus", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  text += note_line("date", date_text());
  if (options_.attach()) {
    text += note_line("attached", shell_line(options_.pids));
    text += note_line("children", options_.children ? "1" : "0");
    text += note_line("via", options_.via);
  } else {
    text += note_line("command", shell_line(options_.command));
    if (options_.via == "bpf") text += note_line("via", options_.via);
  }
  if (!options_.include.empty()) text += note_line("include", shell_line(options_.include));
  if (!options_.exclude.empty()) text += note_line("exclude", shell_line(options_.exclude));
  if (!options_.c_functions.empty()) text += note_line("c-functions", options_.c_functions);
  if (options_.ring_size) text += note_line("ring-size", std::to_string(options_.ring_size));
  if (options_.block) text += note_line("block", "1");
  if (options_.compression) text += note_line("compress", std::to_string(options_.compression));
  if (options_.max_size) text += note_line("max-size", std::to_string(options_.max_size));
  if (options_.max_depth) text += note_line("max-depth", std::to_string(options_.max_depth));
  if (options_.seconds > 0) text += note_line("duration", std::to_string(options_.seconds));
  return text;
}

// Exit status if nothing can be recorded, else -1.
int Session::start() {
  if (!options_.file_per_process() && !open_output(0)) return say(open_error_), 125;
  listener_ = std::make_unique<Listener>();
  signals_heard_ = std::make_unique<Signals>();
  if (options_.via == "auto") options_.via = "direct";
  if (options_.via == "bpf") {
    std::string why = open_backend();
    if (why.empty()) why = backend_->able();
    if (!why.empty()) remove_opened();
    if (!why.empty()) return say(why), 125;
  }
  const auto prepare = [this](pid_t pid) {
    return !options_.file_per_process() || open_output(pid);
  };
  const int out = trace_stdout_ >= 0 ? STDERR_FILENO : -1;
  const Started s = start_command(options_.command, environment(), out, prepare);
  command_ = s.pid;
  if (command_ > 0) return -1;
  if (opened_fd_ >= 0) remove_opened();
  if (s.exec_errno == 0) return say(open_error_), 125;
  say(options_.command[0] + ": cannot execute: " + errno_text(s.exec_errno));
  return s.exec_errno == ENOENT ? 127 : 126;
}

// A thread, like the drainer: after whatever forks.
WriteQueue& Session::queue() {
  if (queue_ == nullptr) queue_ = std::make_unique<WriteQueue>();
  return *queue_;
}

void Session::begin_outputs() {
  if (opened_fd_ < 0) return;
  auto output =
      std::make_shared<Output>(queue(), std::exchange(opened_fd_, -1), opened_name_, clock_,
                               options_.max_size, options_.compression, options_.output != "-");
  output->begin(note());
  outputs_.push_back(output);
  by_pid_[command_] = output;
}

int Session::run() {
  const int status = options_.attach() ? start_attached() : start();
  if (status >= 0) return status;
  if (command_ > 0) diagnosis_.observe(command_);  // it may be gone at the next chance
  if (outputs_.empty() && !options_.attach()) begin_outputs();
  if (drainer_ == nullptr) drainer_ = std::make_unique<Drainer>();
  if (begin_ns_ == 0) begin_ns_ = monotonic_ns();
  clock_due_ns_ = begin_ns_ + kSecond;
  if (options_.verbose && command_ > 0)
    say("recording to " + opened_name_ + ", command is process " + std::to_string(command_));
  loop();
  if (signals_ > 1) return leave_at_once();
  if (failed_) return leave(125);
  return leave(options_.attach() ? static_cast<int>(refusal_) : shell_status(wait_status_));
}

// -- The loop --

void Session::loop() {
  while (phase_ != Phase::kFinished || !command_ended_) {
    wait_for_events();
    read_signals();
    reap_children();
    if (signals_ > 1) return;
    if (phase_ == Phase::kWriting && ending_->done) take_ending();
    greet();
    check_ends();
    if (backend_ != nullptr) tend();
    run_timers();
    if (phase_ == Phase::kRecording && all_ended()) {
      greet();  // a child that was born last may be waiting at the door
      follow_births(true);
      if (all_ended()) finish();
    }
  }
}

void Session::wait_for_events() {
  std::vector<pollfd> fds = {{signals_heard_->heard_fd(), POLLIN, 0},
                             {signals_heard_->child_fd(), POLLIN, 0}};
  if (phase_ != Phase::kFinished) {
    if (listener_ != nullptr) listener_->add_to(fds);
    for (const auto& t : traced_)
      if (!t.gone && t.pidfd >= 0) fds.push_back({t.pidfd, POLLIN, 0});
    if (births_ != nullptr && births_->told()) fds.push_back({births_->descriptor(), POLLIN, 0});
  }
  // At first often: a short command must be seen while it runs, if only to say what it is.
  const bool young = monotonic_ns() - begin_ns_ < kSecond / 20;
  // What is held is mostly written at once, too.
  const bool soon = phase_ == Phase::kWriting && monotonic_ns() - writing_ns_ < kSecond / 20;
  int pause = phase_ == Phase::kFinished ? 1000 : (soon || (young && hellos_ == 0) ? 1 : 20);
  if (backend_ != nullptr && phase_ < Phase::kWriting) pause = std::min(pause, attach_pause());
  poll(fds.data(), fds.size(), pause);
  if (hellos_ == 0 && !command_ended_ && phase_ == Phase::kRecording) diagnosis_.observe(command_);
}

void Session::read_signals() {
  for (const HeardSignal& s : signals_heard_->take()) on_signal(s.number, s.from_kernel);
}

// The command, and what it left behind: start_command() made us the parent of orphans.
void Session::reap_children() {
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (let_go_late(pid, status) || pid != command_) continue;
    wait_status_ = status;
    command_ended_ = true;
    orphans_said_ns_ = monotonic_ns() + kSecond;
  }
  has_children_ = pid == 0;
}

// Nobody shall wonder why this program does not end.
void Session::say_orphans(uint64_t now) {
  if (options_.attach() || !command_ended_ || all_ended() || now < orphans_said_ns_) return;
  orphans_said_ns_ = UINT64_MAX;
  if (!options_.quiet)
    say("the command has ended; what it left running is recorded until it ends, or you press ^C");
}

// What the terminal sends reaches the command anyway; what somebody sends to us is passed on.
void Session::on_signal(int number, bool from_kernel) {
  signals_++;
  last_signal_ = number;
  if (!from_kernel && !command_ended_) kill(command_, number);
  if (signals_ > 1) return;
  request_stop(LTQ_SIGNAL);
  if (phase_ == Phase::kWriting) queue().set_deadline(monotonic_ns() + kWriteLimit);
}

void Session::request_stop(uint32_t reason) {
  if (phase_ != Phase::kRecording) return;
  phase_ = Phase::kStopping;
  reason_ = reason;
  stop_ns_ = monotonic_ns();
  stop_listening();
  queue().set_deadline(stop_ns_ + kWriteLimit);
  if (backend_ != nullptr) backend_->stop();
  update_titles();
  drainer_->post([drainer = drainer_.get()] { drainer->detach_all(); });
}

bool Session::time_is_up(uint64_t now) const {
  return options_.seconds > 0 && begin_ns_ != 0 &&
         static_cast<double>(now - begin_ns_) > options_.seconds * 1e9;
}

// Between the steps of something long: hears signals and the clock.
bool Session::goes_on() {
  read_signals();
  if (phase_ == Phase::kRecording && time_is_up(monotonic_ns())) request_stop(LTQ_DURATION);
  return phase_ == Phase::kRecording;
}

void Session::run_timers() {
  if (phase_ == Phase::kFinished) return;
  const uint64_t now = monotonic_ns();
  if (phase_ == Phase::kWriting) return say_writing(now);
  if (now >= clock_due_ns_) {
    clock_due_ns_ = now + kSecond;
    drainer_->post([outputs = outputs_] {
      for (const auto& o : outputs) o->write_clock();
    });
  }
  update_maps();
  if (phase_ == Phase::kRecording) {
    if (time_is_up(now)) request_stop(LTQ_DURATION);
    say_orphans(now);
    return;
  }
  const bool drained = drainer_->active() == 0 || now - stop_ns_ > kStopGrace;
  const bool wait_more = reason_ == LTQ_SIGNAL && !command_ended_ && now - stop_ns_ < kExitGrace;
  const bool quiet = backend_ == nullptr || now - stop_ns_ > kQuietGrace || backend_->stopped();
  if (drained && quiet && !wait_more) finish();
}

bool Session::all_ended() const {
  if (options_.attach()) return all_watched_gone();
  return command_ended_ && !has_children_ &&
         std::all_of(traced_.begin(), traced_.end(), [](const Traced& t) { return t.gone; });
}

// Everything that is left, and the last blocks: begins to write them. take_ending() goes on.
// What ends by itself is written however long that takes; a signal ends it.
void Session::finish() {
  const int status = command_ended_ ? wait_status_ : -1;
  stop_listening();
  if (backend_ != nullptr && phase_ == Phase::kRecording) backend_->stop();
  phase_ = Phase::kWriting;
  writing_ns_ = monotonic_ns();
  drainer_->post([this, drainer = drainer_.get(), status, reason = reason_] {
    WriteQueue& queue = this->queue();
    for (const auto& o : outputs_) o->wait_for_room();
    drainer->finish_all();
    if (!queue.wait_until_written())
      for (const auto& o : outputs_) o->discard();
    for (const auto& o : outputs_) o->finish(reason, status);
    const uint64_t words = hurried_ ? kHurriedWords : kLastWords;
    ending_->complete =
        queue.wait_until_written() || queue.wait_until_written(monotonic_ns() + words);
    ending_->done = true;
  });
}

// Nobody shall wonder why this program does not end.
void Session::say_writing(uint64_t now) {
  if (said_writing_ || now < writing_ns_ + kSecond) return;
  said_writing_ = true;
  if (!options_.quiet)
    say("the recording has ended; writing the last " + bytes_text(queue().held()) +
        " (^C: leave out what is not written)");
}

void Session::take_ending() {
  phase_ = Phase::kFinished;
  if (!ending_->complete) say_unfinished(), failed_ = true;
  summarize();
  if (backend_ != nullptr) say_attached_end();
  drop_unused_file();
  if (!command_ended_ && !options_.quiet)
    say("the command (process " + std::to_string(command_) + ") goes on without being recorded");
}

// The second signal. The disk may hang, so nobody waits long for it.
int Session::leave_at_once() {
  stop_listening();
  const int status = 128 + last_signal_;
  if (phase_ == Phase::kFinished) return leave(status);
  hurried_ = true;
  queue().set_deadline(monotonic_ns() + kHurriedLimit);
  if (phase_ != Phase::kWriting) finish();
  for (const uint64_t limit = monotonic_ns() + kLeaveLimit; !ending_->done;) {
    if (monotonic_ns() > limit) {
      say("left while writing: the end of the trace is missing");
      _exit(status);
    }
    usleep(1000);
  }
  take_ending();
  return leave(status);
}

// A thread that the disk does not answer cannot be waited for: then this process ends without it.
int Session::leave(int status) {
  if (queue_ == nullptr || queue_->idle()) return status;
  drainer_.reset();
  backend_.reset();
  _exit(status);
}

}  // namespace luatrace::record
