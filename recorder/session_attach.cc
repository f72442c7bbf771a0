// SPDX-License-Identifier: MIT
// Session: processes that run already (-p, --children): found, attached to by a backend, watched.
// The file is emptied only when at least one of them could be attached to.
#include <unistd.h>

#include <algorithm>

#include "recorder/bpf/backend.h"
#include "recorder/direct/backend.h"
#include "recorder/os/text.h"
#include "recorder/session.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kFirstRetry = 10 * kMillisecond;  // a process that has just begun, or exec'ed
constexpr uint64_t kSlowestRetry = 1000 * kMillisecond;
constexpr uint64_t kSilence = 2000 * kMillisecond;  // then it is said that nobody is there
constexpr int kTries = 3;  // of a process that becomes another program while it is looked at
constexpr size_t kMostNamed = 10;     // processes in a message
constexpr size_t kMostLooked = 4096;  // processes, before one way is chosen for all

std::string process_text(pid_t pid) {
  const std::string exe = read_process(pid).exe;
  const std::string name = printable(exe.substr(exe.rfind('/') + 1));
  return "process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

// -- Starting --

// The processes that -p names, with --children their descendants, as far as they are there.
std::vector<pid_t> Session::asked_for() const {
  std::vector<pid_t> all;
  std::string missing;
  for (const auto& spec : options_.pids)
    if (const pid_t pid = find_process(spec, missing); pid > 0) all.push_back(pid);
  for (size_t i = 0; options_.children && i < all.size() && all.size() < kMostLooked; i++)
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  return all;
}

// --via auto: is there a process that only the other way can record? One file has one clock, so
// then all are recorded that way.
bool Session::take_bpf_instead() {
  for (const pid_t pid : asked_for()) {
    const Attached direct = backend_->look(pid);
    if (direct || !direct.other_way) continue;
    auto bpf = make_bpf_backend(options_, *this);
    const Attached other = bpf->look(pid);
    std::string why = other.why;
    if (other) why = bpf->able();
    if (!why.empty()) {
      detail(process_text(pid) + ": --via bpf would not do either: " + why);
      continue;
    }
    if (!options_.quiet)
      say("recording through the kernel's probes (--via bpf), because the direct way is closed: " +
          process_text(pid) + " " + direct.why);
    backend_ = std::move(bpf);
    return true;
  }
  return false;
}

// Makes the backend (--via) and gets it ready. Empty, or why there is none.
std::string Session::open_backend() {
  if (options_.via != "bpf") backend_ = make_direct_backend(options_, *this);
  // Threads: after the guardian was forked.
  if (signals_heard_ == nullptr) signals_heard_ = std::make_unique<Signals>();
  drainer_ = std::make_unique<Drainer>();
  if (options_.via == "bpf") backend_ = make_bpf_backend(options_, *this);
  if (options_.via == "auto") {
    options_.via = take_bpf_instead() ? "bpf" : "direct";
    detail("--via auto: " + options_.via);
  }
  clock_ = backend_->clock();
  return backend_->begin();
}

int Session::start_attached() {
  command_ended_ = true;  // there is none
  wait_status_ = 0;
  if (!options_.file_per_process() && !open_output(0)) return say(open_error_), 125;
  std::string why = open_backend();
  if (options_.children) births_ = std::make_unique<Births>();  // before we look who is there
  for (const auto& spec : options_.pids) {
    if (!why.empty() || !goes_on()) break;
    std::string missing;
    const pid_t pid = find_process(spec, missing);
    if (pid > 0) {
      watch(pid, true);
      continue;
    }
    say("-p " + printable(spec) + ": " + missing);
    if (refusal_ == Refusal::kNone) refusal_ = Refusal::kNoProcess;
  }
  if (why.empty() && options_.children) follow_children();
  const bool any = std::any_of(watched_.begin(), watched_.end(), [&](const Watched& w) {
    return w.attached || (options_.children && !w.gone);
  });
  if (any && why.empty()) return -1;
  if (signals_ > 0) return drop_unused_file(), 128 + last_signal_;
  if (!why.empty()) say(why), refusal_ = Refusal::kOther;
  drop_unused_file();
  return static_cast<int>(refusal_ == Refusal::kNone ? Refusal::kOther : refusal_);
}

void Session::watch(pid_t pid, bool asked) {
  for (const auto& w : watched_)
    if (w.pid == pid && !w.gone) return;
  family_.insert(pid);
  watched_.push_back({pid, open_pidfd(pid, -1), asked, false, false, false, "", 0, kFirstRetry});
  attach_to(watched_.back());
}

// What is found in the midst of an exec() is of neither program: then it is tried again.
Attached Session::attach_steadily(pid_t pid) {
  for (int i = 0; i < kTries; i++) {
    const std::string before = read_process(pid).image;
    const std::string aux = read_proc(pid, "auxv", 8);  // zero until the new program is complete
    const Attached a = backend_->attach(pid);
    const bool begins = a.refusal == Refusal::kNoLuaJIT && !aux.empty() && aux[0] == 0;
    const bool same = !begins && read_process(pid).image == before;
    if (a || (a.refusal != Refusal::kNoProcess && same) || process_is_ending(pid)) return a;
    if (begins) usleep(1000);
  }
  return {Refusal::kNoProcess, "becomes another program all the time"};
}

// True if it is recorded now.
bool Session::attach_to(Watched& w) {
  const uint64_t now = monotonic_ns();
  const bool kernel = is_kernel_thread(w.pid);
  Attached a = kernel
                   ? Attached{Refusal::kNoLuaJIT, "is a thread of the kernel: it runs no program"}
                   : attach_steadily(w.pid);
  // Whatever could not be done with one that was ending: that is why.
  if (!a && !kernel && process_is_ending(w.pid)) a = {Refusal::kNoProcess, "has just ended"};
  std::string why;
  w.retry_ns = now + w.pause_ns;
  w.pause_ns = std::min(w.pause_ns * 2, kSlowestRetry);
  if (a) {
    w.attached = true;
    w.pause_ns = kFirstRetry;
    w.exe = read_process(w.pid).exe;
    looked_at_.erase(w.pid);
    programs_.insert(program_of(w.pid));
    if (begin_ns_ == 0) begin_ns_ = monotonic_ns();  // -d counts from here
    if (outputs_.empty()) begin_outputs();
    detail(process_text(w.pid) + " is being recorded");
    if (process_number(w.pid, why) == 0)
      say_unless_told(process_text(w.pid) + " is not recorded: " + why);
    return true;
  }
  const bool may_come = a.refusal == Refusal::kNoLuaJIT || a.refusal == Refusal::kNoProcess;
  // A parent without LuaJIT may have children with one; children may become something else.
  if (may_come && (!w.asked || options_.children || !w.exe.empty())) {
    if (a.refusal == Refusal::kNoLuaJIT && looked_at_.size() < kMostLooked)
      looked_at_[w.pid] = process_text(w.pid) + " " + a.why;
    return detail(process_text(w.pid) + " " + a.why), false;
  }
  say_unless_told(process_text(w.pid) + " " + a.why);
  if (w.asked && refusal_ == Refusal::kNone) refusal_ = a.refusal;
  w.gone = true;
  return false;
}

// -- While it runs --

int Session::attach_pause() const {
  const uint64_t now = monotonic_ns();
  if (phase_ == Phase::kStopping || now >= tend_due_ns_) return 1;
  return static_cast<int>(std::min<uint64_t>((tend_due_ns_ - now) / kMillisecond + 1, 20));
}

void Session::tend() {
  if (phase_ != Phase::kRecording) return;
  const uint64_t now = monotonic_ns();
  follow_births();
  if (now < tend_due_ns_) return;
  check_watched(now);
  if (phase_ != Phase::kRecording) return;
  std::erase_if(watched_, [](const Watched& w) { return w.gone && !w.asked; });
  if (options_.children) follow_children();
  if (phase_ != Phase::kRecording) return;
  if (now >= dead_due_ns_) {
    dead_due_ns_ = now + 100 * kMillisecond;
    check_outputs();
    if (phase_ != Phase::kRecording) return;
  }
  say_waiting(now);
  const int pause = backend_->tend(now);
  tend_due_ns_ = now + static_cast<uint64_t>(pause) * kMillisecond;
}

// Those that have ended, become another program, or may be ready now.
void Session::check_watched(uint64_t now) {
  for (auto& w : watched_) {
    if (w.gone) continue;
    pollfd p{w.pidfd, POLLIN, 0};
    if (w.pidfd >= 0 ? poll(&p, 1, 0) > 0 : process_is_gone(w.pid)) {
      w.gone = true;
      end_process(w.pid);
      if (w.asked) detail("process " + std::to_string(w.pid) + " has ended");
    } else if (w.attached && !backend_->holds(w.pid)) {
      w.attached = false;
      w.retry_ns = now + kFirstRetry;  // it may just be ending
      end_process(w.pid);
      detail(process_text(w.pid) +
             " is ending, has become another program, or is recorded by another");
    }
    if (!w.gone && !w.attached && !w.full && now >= w.retry_ns && goes_on()) attach_to(w);
    if (w.gone && w.pidfd >= 0) close(std::exchange(w.pidfd, -1));
  }
}

// Full disk, or --max-size: there is nothing to go on for, or (with a file for each process) for
// some of them.
void Session::check_outputs() {
  std::set<const Output*> dead;
  drainer_->call([&] {
    for (const auto& o : outputs_)
      if (o->dead()) dead.insert(o.get());
  });
  if (dead.empty()) return;
  if (dead.size() == outputs_.size()) return request_stop(LTQ_MAX_SIZE);
  for (auto& w : watched_) {
    const auto it = by_pid_.find(w.pid);
    if (w.gone || !w.attached || it == by_pid_.end() || !dead.contains(it->second.get())) continue;
    w.attached = false;
    w.full = true;
    end_process(w.pid);
  }
}

void Session::end_process(pid_t pid) {
  backend_->forget(pid);
  for (auto& t : traced_)
    if (t.pid == pid && !t.gone) set_ended(t);
}

// Also children of those that have no LuaJIT themselves.
void Session::follow_children() {
  for (auto& w : watched_) {  // grows while we go
    if (w.gone) continue;
    for (const pid_t child : children_of(w.pid))
      if (goes_on()) watch(child, false);
  }
}

bool Session::all_watched_gone() const {
  return std::all_of(watched_.begin(), watched_.end(), [](const Watched& w) { return w.gone; });
}

// -- What a backend asks for --

std::shared_ptr<Output> Session::output_of(pid_t pid, std::string& why) {
  if (!options_.file_per_process() && outputs_.empty()) begin_outputs();
  return output_for(pid, why);
}

uint32_t Session::process_number(pid_t pid, std::string& why) {
  const ProcessFacts facts = read_process(pid);
  if (output_of(pid, why) == nullptr) return 0;
  Traced* const t = traced_for({pid, facts.ns_pid, facts.uid, -1}, clock_, why);
  if (t == nullptr) return 0;
  update_maps(*t, monotonic_ns());  // now: it may have ended when its events come
  return t->number;
}

std::string Session::add_ring(pid_t pid, std::unique_ptr<RingMemory> ring) {
  const ProcessFacts facts = read_process(pid);
  std::string why = refuse_ring(*ring);
  if (!why.empty()) return ring->set_detach(), "a Lua state is not recorded: " + why;
  if (output_of(pid, why) == nullptr) return "is not recorded: " + why;
  const uint32_t clock = ring->info().clock;
  Traced* const t = traced_for({pid, ring->info().pid, facts.uid, -1}, clock, why);
  if (t == nullptr || !drain_ring(*t, std::move(ring), why)) return "is not recorded: " + why;
  return "";
}

void Session::has_c_functions(pid_t pid) {
  for (auto& t : traced_)
    if (!t.gone && t.pid == pid) *t.maps_wanted = true;
}

void Session::first_event(pid_t pid, uint64_t after_ns) {
  if (!options_.quiet)
    say("process " + std::to_string(pid) + ": first event " +
        time_text(static_cast<double>(after_ns)) + " after attaching");
}

void Session::detail(const std::string& text) {
  if (options_.verbose) say(text);
}

// -- The end --

// Nobody shall wait in vain without knowing it.
void Session::say_waiting(uint64_t now) {
  if (said_waiting_ || !programs_.empty() || now < begin_ns_ + kSilence) return;
  said_waiting_ = true;
  say("no LuaJIT with tracepoints so far in " + grouped(looked_at_.size()) +
      (looked_at_.size() == 1 ? " process" : " processes") +
      "; waiting for one (^C: end, and why)");
}

// --children, and none of them has what it takes.
void Session::say_none_attached() {
  size_t n = 0;
  say("nothing was recorded, no file was written: of " + grouped(looked_at_.size()) +
      " processes that were looked at none has a LuaJIT with tracepoints");
  for (const auto& [pid, why] : looked_at_)
    if (n++ < kMostNamed) say(why.substr(0, why.find(" (to look for yourself")));
  if (n > kMostNamed) say("and " + grouped(n - kMostNamed) + " more");
}

void Session::drop_unused_file() const {
  if (opened_fd_ >= 0 && outputs_.empty()) remove_opened();
}

void Session::say_attached_end() {
  const auto unwritable = [](const auto& o) { return !o->writer().ok(); };
  if (std::any_of(outputs_.begin(), outputs_.end(), unwritable)) return;  // that is said
  for (const auto& line : backend_->remarks()) say(line);
  say_births();
  if (options_.attach() && programs_.empty() && refusal_ == Refusal::kNone) {
    refusal_ = Refusal::kNoLuaJIT;
    return say_none_attached();
  }
  if (!options_.attach() || hellos_ > 0) return;
  for (const auto& o : outputs_)
    if (o->totals().streams > 0) return;
  if (refusal_ == Refusal::kNone) refusal_ = Refusal::kNoEvents;
  say("nothing was recorded: no event came");
}

}  // namespace luatrace::record
