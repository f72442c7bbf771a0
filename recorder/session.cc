// SPDX-License-Identifier: MIT
// Session: starting, the loop, ending. Ending: first everything is detached (kStopping), which does
// not wait for the disk; then the held data is written (kWriting).
#include "recorder/session.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "recorder/bpf/backend.h"
#include "recorder/command/backend.h"
#include "recorder/direct/backend.h"
#include "recorder/inside/backend.h"
#include "recorder/options.h"
#include "recorder/os/clock.h"
#include "recorder/os/command.h"
#include "recorder/os/helper.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"
#include "recorder/sampler/backend.h"
#include "recorder/summary.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kStopGrace = kSecond / 4;  // for rings to be closed after a request
constexpr uint64_t kQuietGrace = kSecond;     // for attached processes to stop
constexpr uint64_t kExitGrace = 2 * kSecond;  // for a command that was sent a signal to end
// Time for writing the held data when the recording was ended from outside, then for recording in
// the file what is missing; both again after a second signal.
constexpr uint64_t kWriteLimit = 10 * kSecond, kFinalLimit = kSecond;
constexpr uint64_t kHurriedLimit = kSecond * 3 / 20, kHurriedWords = kSecond / 5;
constexpr uint64_t kLeaveLimit = kSecond * 9 / 20;  // after the second; below Signals::kLeaveMs

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)),
      outputs_(options_),
      processes_(options_, outputs_),
      attacher_(options_, processes_, outputs_, [this] { return continues(); }),
      status_line_(options_),
      watch_printer_(options_, processes_.watch_log()) {}

Session::~Session() {
  processes_.end_drainer();  // before the backend, which its jobs use
}

// -- Starting --

// --via auto: is there a process that only BPF can record? One file has one clock, so then all are
// recorded that way.
bool Session::switch_to_bpf() {
  if (!options_.watch.empty()) return false;
  for (const pid_t pid : attacher_.requested()) {
    const Attached direct = backend_->check(pid);
    if (direct || !direct.other_way) continue;
    auto bpf = make_bpf_backend(options_, processes_);
    const Attached other = bpf->check(pid);
    std::string why = other.why;
    if (other) why = bpf->able();
    if (!why.empty()) {
      processes_.detail(process_text(pid) + ": --via bpf is not possible either: " + why);
      continue;
    }
    if (!options_.quiet)
      log("recording through the kernel's probes (--via bpf), because recording directly is not "
          "possible: " +
          process_text(pid) + " " + direct.why);
    backend_ = std::move(bpf);
    const std::string filter = recorders_filter(options_);
    if (filter.empty()) return true;
    if (options_.times == "segments" && !options_.quiet)
      log("--times segments is not possible that way with " + filter + ": each event is recorded");
    options_.times = "events";
    return true;
  }
  return false;
}

void Session::make_command_backend() {
  const auto open = [this](pid_t pid) {
    return !options_.file_per_process() || outputs_.open(pid) ? "" : outputs_.error();
  };
  const auto stdout_fd = [this] { return outputs_.trace_stdout() >= 0 ? STDERR_FILENO : -1; };
  auto command =
      std::make_unique<CommandBackend>(options_, processes_, CommandFile{open, stdout_fd});
  signal_source_ = std::make_unique<Signals>(options_.flight != 0);
  if (options_.via == "auto") options_.via = "direct";
  if (options_.sample_hz != 0) {
    command->do_not_listen();
    command->attach_by(make_sampling_backend(options_, processes_),
                       [](const Peer&) { return std::string(); });
    options_.children = true;
  } else if (options_.via == "bpf")
    command->attach_by(make_bpf_backend(options_, processes_),
                       [this](const Peer& peer) { return attacher_.attach_peer(peer); });
  backend_ = std::move(command);
}

void Session::make_inside_backend() {
  const auto open = [this](pid_t pid) {
    return !options_.file_per_process() || outputs_.open(pid) ? "" : outputs_.error();
  };
  const auto written = [this](uint64_t until_ns) {
    return outputs_.queue().wait_until_written(until_ns);
  };
  const auto leaves = [this](pid_t pid, const std::vector<pid_t>& forks) {
    for (const pid_t fork : forks) processes_.follow(fork, -1);
    if (Process* const p = processes_.find(pid)) p->leaving = true;
    const auto& all = processes_.followed();
    return std::any_of(all.begin(), all.end(), [](const Process* p) { return !p->leaving; });
  };
  const auto snapshot_to = [this](const std::shared_ptr<Output>& output, SnapshotFile file) {
    this->snapshot_to(output, std::move(file));
  };
  backend_ = std::make_unique<InsideBackend>(
      options_, processes_, InsideActions{open, written, leaves, is_replaceable, snapshot_to});
  use_all_descriptors();
  signal_source_ = std::make_unique<Signals>(options_.flight != 0);
  options_.via = "direct";
}

// Everything that forks comes before the first thread, that of the signals.
void Session::make_backend() {
  if (options_.inside) return make_inside_backend();
  if (!options_.attach()) return make_command_backend();
  if (options_.sample_hz != 0) {
    signal_source_ = std::make_unique<Signals>(false);
    backend_ = make_sampling_backend(options_, processes_);
    return;
  }
  if (options_.via != "bpf") backend_ = make_direct_backend(options_, processes_);
  signal_source_ = std::make_unique<Signals>(options_.flight != 0);
  if (options_.via == "bpf") backend_ = make_bpf_backend(options_, processes_);
  if (options_.via != "auto") return;
  options_.via = switch_to_bpf() ? "bpf" : "direct";
  processes_.detail("--via auto: " + options_.via);
}

// Exit status if nothing can be recorded, else -1.
int Session::start() {
  if (!options_.file_per_process() && !outputs_.open(0)) return log(outputs_.error()), 125;
  make_backend();
  attacher_.set_backend(*backend_);
  outputs_.set_clock(backend_->clock());
  const Attached ready = backend_->begin();
  if (ready && options_.sample_hz != 0 && backend_->command() > 0)
    attacher_.follow_command(backend_->command());
  const bool any = ready && (!options_.attach() || attacher_.start());
  if (any) return -1;
  outputs_.remove_unused();
  if (signals_ > 0)
    return log("nothing was recorded and no file was written: a signal came before it began"),
           128 + last_signal_;
  if (!ready) log(ready.why);
  const Refusal refusal = ready ? attacher_.refusal() : ready.refusal;
  return static_cast<int>(refusal == Refusal::kNone ? Refusal::kOther : refusal);
}

int Session::run() {
  const int status = start();
  if (status >= 0) return status;
  begin_ns_ = begin_ns();
  clock_due_ns_ = begin_ns_ + kSecond;
  loop();
  if (signals_ > 1) return leave_now();
  return leave(exit_status());
}

int Session::exit_status() const {
  if (outputs_.failed()) return 125;
  if (options_.inside) return 0;
  const Refusal refusal = attacher_.refusal();
  return options_.attach() ? static_cast<int>(refusal) : shell_status(backend_->wait_status());
}

// -- The loop --

void Session::loop() {
  while (phase_ != Phase::kFinished || backend_->command() > 0) {
    wait_for_events();
    read_signals();
    reap_children();
    if (signals_ > 1) return;
    if (phase_ == Phase::kWriting && ending_->done) take_ending();
    backend_->accept();
    processes_.take_ended([this](Process& p) {
      if (phase_ == Phase::kRecording) attacher_.end(p);
    });
    poll_backend();
    write_snapshots();
    print_watched();
    run_timers();
    if (phase_ == Phase::kRecording && all_ended()) {
      backend_->accept();  // a new child may be waiting
      attacher_.follow_new_processes(true);
      if (all_ended()) finish();
    }
  }
}

void Session::wait_for_events() {
  std::vector<pollfd> fds = {{signal_source_->event_fd(), POLLIN, 0},
                             {signal_source_->child_fd(), POLLIN, 0}};
  if (phase_ != Phase::kFinished) {
    backend_->add_descriptors(fds);
    processes_.add_descriptors(fds);
    watch_printer_.add_descriptors(fds);
    if (attacher_.descriptor() >= 0) fds.push_back({attacher_.descriptor(), POLLIN, 0});
  }
  const uint64_t now = monotonic_ns();
  uint64_t pause = phase_ == Phase::kFinished ? 1000 : 20;
  // Held data is usually written immediately.
  if (phase_ == Phase::kStopping || (phase_ == Phase::kWriting && now - writing_ns_ < kSecond / 20))
    pause = 1;
  if (phase_ == Phase::kRecording)
    pause = now >= poll_due_ns_ ? 1 : std::min(pause, (poll_due_ns_ - now) / kMillisecond + 1);
  poll(fds.data(), fds.size(), static_cast<int>(pause));
}

void Session::read_signals() {
  for (const ReceivedSignal& s : signal_source_->take()) on_signal(s.number, s.from_kernel);
}

void Session::reap_children() {
  std::vector<std::pair<pid_t, int>> ended;
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
    if (!detach_deferred(pid, status)) ended.emplace_back(pid, status);
  backend_->on_children(ended, pid == 0);
}

// The terminal's signals reach the command anyway; those sent to us are passed on.
void Session::on_signal(int number, bool from_kernel) {
  if (number == SIGUSR1) return snapshot("SIGUSR1");
  signals_++;
  last_signal_ = number;
  if (!from_kernel && backend_ != nullptr && backend_->command() > 0)
    kill(backend_->command(), number);
  if (signals_ > 1) return;
  request_stop(LTQ_SIGNAL);
  if (phase_ == Phase::kWriting) outputs_.queue().set_deadline(monotonic_ns() + kWriteLimit);
}

// Of all files. The events that have happened by now are in it.
void Session::snapshot(const std::string& why) {
  if (phase_ != Phase::kRecording || outputs_.all().empty()) return;
  processes_.drainer().post([outputs = outputs_.all(), why, drainer = &processes_.drainer()] {
    drainer->flush_all();
    for (const auto& o : outputs) o->snapshot(why);
  });
}

// Of one of them. What is written first is written at once.
void Session::snapshot_to(const std::shared_ptr<Output>& output, SnapshotFile file) {
  const auto kept = std::make_shared<SnapshotFile>(std::move(file));  // jobs are copied
  processes_.drainer().post([output, kept, drainer = &processes_.drainer()] {
    drainer->flush_all();
    output->snapshot("luatrace.snapshot", std::move(*kept));
  });
}

// A part of each that is being written.
void Session::write_snapshots() {
  if (options_.flight == 0 || phase_ == Phase::kFinished) return;
  for (const auto& o : outputs_.all()) {
    if (o->selection().flight()->busy())
      processes_.drainer().post([o] { o->selection().flight()->step(); });
  }
}

// If only the values were wanted, the recording ends when nobody reads them, and when each process
// has had its number.
void Session::print_watched() {
  if (options_.watch.empty() || phase_ == Phase::kFinished) return;
  const bool read = watch_printer_.print();
  if (phase_ != Phase::kRecording || !options_.no_file || !options_.attach()) return;
  if (!read) return request_stop(LTQ_SIGNAL);
  const auto& followed = processes_.followed();
  if (!options_.children && !followed.empty() &&
      std::all_of(followed.begin(), followed.end(),
                  [this](Process* p) { return processes_.watch_log().is_done(p->pid); }))
    request_stop(LTQ_DURATION);
}

void Session::request_stop(uint32_t reason) {
  if (phase_ != Phase::kRecording) return;
  phase_ = Phase::kStopping;
  status_line_.end();
  reason_ = reason;
  stop_ns_ = monotonic_ns();
  outputs_.queue().set_deadline(stop_ns_ + kWriteLimit);
  backend_->stop();
  processes_.update_titles();
  processes_.drainer().post([drainer = &processes_.drainer()] { drainer->detach_all(); });
}

// When the recording began: with the first process attached (-d counts from there).
uint64_t Session::begin_ns() const {
  if (begin_ns_ != 0) return begin_ns_;
  return attacher_.first_ns() != 0 ? attacher_.first_ns() : monotonic_ns();
}

bool Session::time_is_up(uint64_t now) const {
  return options_.seconds > 0 && now > begin_ns() &&
         static_cast<double>(now - begin_ns()) > options_.seconds * 1e9;
}

// Between the steps of something long: checks signals and the clock.
bool Session::continues() {
  read_signals();
  if (phase_ == Phase::kRecording && time_is_up(monotonic_ns())) request_stop(LTQ_DURATION);
  return phase_ == Phase::kRecording;
}

// Logs once why recording has become impossible.
bool Session::is_broken() {
  const std::string why = backend_->broken();
  if (!why.empty() && !std::exchange(logged_broken_, true)) log(why);
  if (!why.empty()) outputs_.set_failed();
  return !why.empty();
}

// Looks for new processes, checks the attached ones, and prints messages.
void Session::poll_backend() {
  if (phase_ != Phase::kRecording) return;
  if (backend_->asked_to_stop()) return request_stop(LTQ_DURATION);
  const uint64_t now = monotonic_ns();
  attacher_.follow_new_processes();
  if (now < poll_due_ns_) return;
  attacher_.check(now);
  if (phase_ != Phase::kRecording) return;
  if (now >= outputs_due_ns_) {
    outputs_due_ns_ = now + 100 * kMillisecond;
    if (outputs_.disk_is_scarce()) {
      outputs_.queue().announce_scarce();
      return request_stop(LTQ_DISK);
    }
    if (attacher_.check_outputs()) return request_stop(LTQ_MAX_SIZE);
  }
  if (is_broken()) return request_stop(LTQ_ERROR);
  attacher_.warn_waiting(now, begin_ns_);
  poll_due_ns_ = now + static_cast<uint64_t>(backend_->poll(now)) * kMillisecond;
}

void Session::run_timers() {
  if (phase_ == Phase::kFinished) return;
  const uint64_t now = monotonic_ns();
  if (phase_ == Phase::kWriting) return warn_writing(now);
  if (now >= clock_due_ns_) {
    clock_due_ns_ = now + kSecond;
    processes_.drainer().post([outputs = outputs_.all()] {
      for (const auto& o : outputs) o->write_clock();
    });
  }
  processes_.update();
  if (phase_ == Phase::kRecording) {
    status_line_.update(now, begin_ns(), processes_.drainer(), outputs_);
    if (time_is_up(now)) request_stop(LTQ_DURATION);
    return;
  }
  const uint64_t waited = now - stop_ns_;
  const bool drained = processes_.drainer().active() == 0 || waited > kStopGrace;
  const bool wait_more = reason_ == LTQ_SIGNAL && backend_->command() > 0 && waited < kExitGrace;
  const bool quiet = waited > kQuietGrace || backend_->stopped();
  if (drained && quiet && !wait_more) finish();
}

bool Session::all_ended() const {
  const auto& all = processes_.followed();
  return backend_->ended() &&
         std::none_of(all.begin(), all.end(), [](const Process* p) { return p->counts(); });
}

// -- The end --

// Begins to write the rest and the last blocks. take_ending() continues. If the recording ended by
// itself this may take any time; a signal ends it.
void Session::finish() {
  const int status = backend_->wait_status();
  if (phase_ == Phase::kRecording) backend_->stop();
  status_line_.end();
  phase_ = Phase::kWriting;
  writing_ns_ = monotonic_ns();
  processes_.drainer().post([this, drainer = &processes_.drainer(), status, reason = reason_] {
    WriteQueue& queue = outputs_.queue();
    const auto& outputs = outputs_.all();
    for (const auto& o : outputs) o->wait_for_space();
    drainer->finish_all();
    if (!queue.wait_until_written())
      for (const auto& o : outputs) o->discard();
    for (const auto& o : outputs) o->finish(reason, status);
    const uint64_t words = second_signal_ ? kHurriedWords : kFinalLimit;
    ending_->complete =
        queue.wait_until_written() || queue.wait_until_written(monotonic_ns() + words);
    ending_->done = true;
  });
}

// The user should know why this program does not end.
void Session::warn_writing(uint64_t now) {
  if (logged_writing_ || now < writing_ns_ + kSecond) return;
  logged_writing_ = true;
  if (!options_.quiet)
    log("the recording has ended; writing the last " + bytes_text(outputs_.queue().held()) +
        " (^C: leave out what is not written)");
}

void Session::take_ending() {
  phase_ = Phase::kFinished;
  const auto& all = outputs_.all();
  const bool sound =
      std::all_of(all.begin(), all.end(), [](const auto& o) { return o->writer().ok(); });
  if (!ending_->complete) {  // the disk takes nothing, not even the last blocks
    outputs_.set_failed();
    for (const auto& o : all) o->give_up();
  }
  is_broken();  // perhaps since the last check
  if (!watch_printer_.finish()) outputs_.set_failed();
  summarize(options_, outputs_, backend_->diagnosis(reason_));
  if (sound) {
    for (const auto& line : backend_->remarks()) log(line);
    attacher_.log_end();
  }
  outputs_.remove_unused();
  if (!options_.attach() && !options_.quiet) {
    const std::string text = explain_misplaced(options_.command, backend_->wait_status() > 0);
    if (!text.empty()) log(text);
  }
  if (const pid_t command = backend_->command(); command > 0 && !options_.quiet)
    log("the command (process " + std::to_string(command) + ") continues without being recorded");
}

// The second signal. The disk may be blocked, so it is not waited for long.
int Session::leave_now() {
  const int status = 128 + last_signal_;
  if (phase_ == Phase::kFinished) return leave(status);
  second_signal_ = true;
  outputs_.queue().set_deadline(monotonic_ns() + kHurriedLimit);
  if (phase_ != Phase::kWriting) finish();
  for (const uint64_t limit = monotonic_ns() + kLeaveLimit; !ending_->done;) {
    if (monotonic_ns() > limit) {
      log("interrupted while writing: the end of the trace is missing");
      _exit(status);
    }
    usleep(1000);
  }
  take_ending();
  return leave(status);
}

// A thread that is blocked by the disk cannot be waited for: then this process ends without it.
int Session::leave(int status) {
  backend_->on_exit(status);
  if (outputs_.queue_idle()) return status;
  processes_.end_drainer();
  backend_.reset();
  _exit(status);
}

}  // namespace luatrace::record
