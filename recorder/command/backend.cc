// SPDX-License-Identifier: MIT
#include "recorder/command/backend.h"

#include <algorithm>
#include <cerrno>

#include "luatrace_watch.h"
#include "recorder/os/clock.h"
#include "recorder/os/command.h"
#include "recorder/os/elf_file.h"
#include "recorder/os/memfd.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr int kPauseMs = 20;

}  // namespace

CommandBackend::CommandBackend(const Options& options, BackendHost& host, CommandFile file,
                               pid_t root)
    : options_(options), host_(host), file_(std::move(file)) {
  memfd_device();  // now: later there may be no descriptor for it
  listener_ = std::make_unique<ListenerApart>(root);
}

void CommandBackend::attach_by(std::unique_ptr<Backend> backend,
                               std::function<std::string(const Peer&)> attach) {
  attacher_ = std::move(backend);
  attach_ = std::move(attach);
}

// -- Starting --

std::vector<std::pair<std::string, std::string>> CommandBackend::environment() const {
  if (listener_ == nullptr) return {};
  std::vector<std::pair<std::string, std::string>> e = {{LT_ENV_SOCKET, listener_->path()}};
  if (!options_.include.empty()) e.emplace_back(LT_ENV_INCLUDE, lines_of(options_.include));
  if (!options_.exclude.empty()) e.emplace_back(LT_ENV_EXCLUDE, lines_of(options_.exclude));
  if (!options_.c_functions.empty()) e.emplace_back(LT_ENV_CFUNCS, options_.c_functions);
  if (options_.ring_size != 0) e.emplace_back(LT_ENV_RING, std::to_string(options_.ring_size));
  if (options_.block) e.emplace_back(LT_ENV_BLOCK, "1");
  if (options_.times != "events") e.emplace_back(LT_ENV_TIMES, options_.times);
  if (!options_.watch_request.empty()) e.emplace_back(LT_ENV_WATCH, options_.watch_request);
  return e;
}

Attached CommandBackend::begin() {
  if (attacher_ != nullptr) {
    if (Attached a = attacher_->begin(); !a) return a;
    if (std::string why = attacher_->able(); !why.empty()) return {Refusal::kOther, std::move(why)};
  }
  if (Attached a = start(); !a) return a;
  diagnosis_.observe(command_);  // it may be gone the next time
  begin_ns_ = monotonic_ns();
  std::string why;
  const auto output = host_.output_of(command_, why);
  host_.detail("recording to " + output->writer().name() + ", command is process " +
               std::to_string(command_));
  return {};
}

Attached CommandBackend::start() {
  std::string why;
  const auto prepare = [&](pid_t pid) {
    why = file_.open(pid);
    return why.empty();
  };
  inherited_ = waited_children();
  const Started s = start_command(options_.command, environment(), file_.stdout_fd(), prepare);
  command_ = s.pid;
  if (command_ > 0) return {};
  if (s.exec_errno == 0) return {Refusal::kOther, why};
  why = options_.command[0] + ": cannot execute: " + errno_text(s.exec_errno);
  if (s.exec_errno == ENOEXEC && s.machine != kMachine && s.machine != 0)
    why += " (it is for " + machine_name(s.machine) + ")";
  return {s.exec_errno == ENOENT ? Refusal::kNotFound : Refusal::kNotExecuted, why};
}

// -- Processes that connect --

void CommandBackend::add_descriptors(std::vector<pollfd>& fds) const {
  if (listener_ != nullptr) listener_->add_to(fds);
}

void CommandBackend::accept() {
  if (listener_ == nullptr) return;
  if (recorded_ == 0 && command_ > 0 && !command_ended_) diagnosis_.observe(command_);
  std::vector<std::string> refusals;
  for (Hello& h : listener_->receive(refusals)) {
    const std::string why = handle_hello(h);
    if (!why.empty()) refusals.push_back("process " + std::to_string(h.pid) + why);
    const char answer = !why.empty()           ? LT_HELLO_REFUSED
                        : attacher_ != nullptr ? LT_HELLO_PROBES
                                               : LT_HELLO_RECORD;
    if (!answer_hello(h, answer) && why.empty())
      refusals.push_back("process " + std::to_string(h.pid) +
                         ": a Lua VM is not recorded: it did not wait for this answer any "
                         "longer (is the machine overloaded, or was luatrace-record stopped?)");
  }
  report_all(refusals);
}

void CommandBackend::report_all(const std::vector<std::string>& refusals) {
  refused_ += refusals.size();
  for (const auto& r : refusals) host_.report(r);
}

// Takes its ring, or attaches to it: it waits for the answer before it runs any Lua. Returns why
// that is impossible: the rest of a sentence about the process.
std::string CommandBackend::handle_hello(Hello& hello) {
  std::string why;
  auto ring = RingMemory::map(std::exchange(hello.ring_fd, -1), &why);
  if (ring == nullptr) return " was refused: its ring is not usable: " + why;
  if (ring->info().pid != pid_inside(hello.pid))
    return " was refused: its ring is that of another process";
  const Peer peer{hello.pid, hello.text.pid, hello.uid, hello.socket};
  if (attacher_ != nullptr) {
    why = attach_(peer);
  } else {
    const RingAnswer answer = host_.add_ring(peer, std::move(ring));
    if (answer.kind == RingAnswer::kRefused) why = " was refused: " + answer.why;
    if (answer.kind == RingAnswer::kNotTaken) why = " is not recorded: " + answer.why;
  }
  if (why.empty()) recorded_++;
  return why;
}

// -- While it runs --

// The command, and its orphans: start_command() made us their parent. (A shell that became this
// program by exec may have left us children: nobody waits for those.)
void CommandBackend::on_children(const std::vector<std::pair<pid_t, int>>& ended, bool more) {
  for (const auto& [pid, status] : ended) {
    std::erase(inherited_, pid);
    if (pid != command_) continue;
    wait_status_ = status;
    command_ended_ = true;
    orphans_ns_ = monotonic_ns() + kSecond;
  }
  has_children_ = more;
  if (!more || !command_ended_ || inherited_.empty()) return;
  const std::vector<pid_t> children = waited_children();
  has_children_ = std::any_of(children.begin(), children.end(), [this](pid_t child) {
    return std::find(inherited_.begin(), inherited_.end(), child) == inherited_.end();
  });
}

// The user should know why this program does not end.
void CommandBackend::report_orphans(uint64_t now) {
  if (!command_ended_ || !has_children_ || now < orphans_ns_) return;
  orphans_ns_ = UINT64_MAX;
  if (!options_.quiet)
    log("the command has ended; what it left running is recorded until it ends, or you press ^C");
}

void CommandBackend::forget(pid_t pid) {
  if (attacher_ != nullptr) attacher_->forget(pid);
}

// Often at first: a short command must be examined while it runs, if only to name it.
int CommandBackend::poll(uint64_t now) {
  report_orphans(now);
  const bool young = listener_ != nullptr && recorded_ == 0 && now - begin_ns_ < kSecond / 20;
  const int pause = young ? 1 : kPauseMs;
  return attacher_ != nullptr ? std::min(pause, attacher_->poll(now)) : pause;
}

// -- The end --

// The socket is closed: a Lua VM that connects, or waits for an answer, notices it immediately.
void CommandBackend::stop() {
  if (listener_ != nullptr) {
    std::vector<std::string> refusals;
    listener_->stop(refusals);
    report_all(refusals);
    outsiders_ += listener_->outsiders();
    listener_.reset();
  }
  if (attacher_ != nullptr) attacher_->stop();
}

std::vector<std::string> CommandBackend::remarks() {
  return attacher_ != nullptr ? attacher_->remarks() : std::vector<std::string>{};
}

std::vector<std::string> CommandBackend::diagnosis(uint32_t reason) {
  std::vector<std::string> lines;
  if (options_.sample_hz == 0 && recorded_ == 0 && refused_ == 0 && reason != LTQ_SIGNAL)
    lines = diagnosis_.report(own_library_dir());
  if (outsiders_ > 0 && !options_.quiet)
    lines.push_back(counted(outsiders_, "connection") +
                    " of processes that are not the command's were closed");
  return lines;
}

}  // namespace luatrace::record
