// SPDX-License-Identifier: MIT
// The file is emptied only if at least one process could be attached.
#include "recorder/attacher.h"

#include <unistd.h>

#include <algorithm>

#include "base/escape.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kFirstRetry = 10 * kMillisecond;  // of one that has just started, or called exec
constexpr uint64_t kSlowestRetry = 1000 * kMillisecond;
constexpr uint64_t kResponseLimit = 2 * kSecond;  // then a message warns that there is no LuaJIT
constexpr int kTries = 3;              // for a process that calls exec while it is checked
constexpr size_t kMaxNamed = 10;       // processes in a message
constexpr size_t kMaxExamined = 4096;  // processes, before a method is chosen for all

using Attaching = Process::Attaching;

// Why a process is no longer attached: the rest of a sentence about it. One that begins to end
// meanwhile looks like another program, or like none: so that is checked last.
std::string lost_text(const Process& p) {
  const bool other_program = !p.image.id.empty() && read_process(p.pid).image != p.image.id;
  if (process_is_ending(p.pid)) return " is ending";
  if (other_program) return " has executed another program";
  return " is no longer recorded: another recorder has it, its memory cannot be accessed any more, "
         "or this recorder did not run for some seconds";
}

// Processes whose obstacle is known.
size_t obstacles(const Processes& processes) {
  const auto& all = processes.all();
  return static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [](const auto& entry) { return !entry.second.obstacle.empty(); }));
}

// The first of them.
void log_obstacles(const Processes& processes) {
  size_t n = 0;
  for (const auto& [pid, p] : processes.all())
    if (!p.obstacle.empty() && n++ < kMaxNamed)
      log(p.obstacle.substr(0, p.obstacle.find(" (to check")));
  if (n > kMaxNamed) log("and " + grouped(n - kMaxNamed) + " more");
}

}  // namespace

std::string process_text(pid_t pid) {
  const std::string exe = read_process(pid).exe;
  const std::string name = printable(exe.substr(exe.rfind('/') + 1));
  return "process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")");
}

Attacher::Attacher(const Options& options, Processes& processes, Outputs& outputs,
                   std::function<bool()> continues)
    : options_(options),
      processes_(processes),
      outputs_(outputs),
      continues_(std::move(continues)) {}

// -- Starting --

// The processes named by -p, and with --children their descendants, as far as they exist.
std::vector<pid_t> Attacher::requested() const {
  std::vector<pid_t> all;
  if (options_.all)
    for (const pid_t pid : all_processes())
      if (is_wanted(pid) && all.size() < kMaxExamined) all.push_back(pid);
  std::string missing;
  for (const auto& spec : options_.pids)
    if (const pid_t pid = find_process(spec, missing); pid > 0) all.push_back(pid);
  for (size_t i = 0; options_.children && i < all.size() && all.size() < kMaxExamined; i++)
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  return all;
}

bool is_wanted(pid_t pid) {
  return pid != getpid() && read_process(pid).parent != getpid() && !is_kernel_thread(pid);
}

bool Attacher::start() {
  if (options_.finds_processes())
    monitor_ = std::make_unique<ProcessMonitor>();  // before the processes are listed
  for (const auto& spec : options_.pids) {
    if (!continues_()) break;
    std::string missing;
    const pid_t pid = find_process(spec, missing);
    if (pid > 0) {
      watch(pid, true);
      continue;
    }
    log("-p " + printable(spec) + ": " + missing);
    if (refusal_ == Refusal::kNone) refusal_ = Refusal::kNoProcess;
  }
  if (options_.all)
    for (const pid_t pid : all_processes())
      if (continues_()) consider_unrelated(pid);
  if (options_.children) follow_children();
  if (!options_.finds_processes()) suggest_children();
  const auto& all = processes_.followed();
  if (options_.all && all.empty()) return true;  // the first one of a container: others will come
  return std::any_of(all.begin(), all.end(), [&](const Process* p) {
    return p->attached() || (options_.finds_processes() && p->counts());
  });
}

void Attacher::follow_command(pid_t pid) {
  monitor_ = std::make_unique<ProcessMonitor>();
  watch(pid, false);
  follow_children();
}

void Attacher::watch(pid_t pid, bool requested, int peer) {
  if (is_followed(pid)) return;
  Process& p = processes_.follow(pid, peer);
  p.descendant = true;
  p.requested = requested;
  p.attaching = Attaching::kWaiting;
  p.pause_ns = kFirstRetry;
  attach_to(p);
}

bool Attacher::is_followed(pid_t pid) {
  const Process* const p = processes_.find(pid);
  return p != nullptr && p->followed;
}

// If the process is known, it has opened another Lua VM, or loaded another LuaJIT.
std::string Attacher::attach_peer(const Peer& peer) {
  Process* p = processes_.find(peer.pid);
  if (p != nullptr && p->followed && p->attached()) {
    const Attached a = backend_->attach(peer.pid);
    return a ? "" : " " + a.why;
  }
  if (p != nullptr && p->followed)
    attach_to(*p);
  else
    watch(peer.pid, false, peer.socket);
  p = processes_.find(peer.pid);
  if (p->attaching == Attaching::kRefused) outputs_.set_failed();  // reported by attach_to()
  return p->attached() ? "" : " is not recorded" + (p->why.empty() ? "" : ": it " + p->why);
}

// Results from the middle of an exec() belong to neither program: then it tries again.
Attached Attacher::attach_with_retries(pid_t pid) {
  for (int i = 0; i < kTries; i++) {
    const std::string before = read_process(pid).image;
    const std::string aux = read_proc(pid, "auxv", 8);  // zero until the new program is complete
    const Attached a = backend_->attach(pid);
    const bool begins = a.refusal == Refusal::kNoLuaJIT && !aux.empty() && aux[0] == 0;
    const bool same = !begins && read_process(pid).image == before;
    if (a || (a.refusal != Refusal::kNoProcess && same) || process_is_ending(pid)) return a;
    if (begins) usleep(1000);
  }
  return {Refusal::kNoProcess, "executes other programs all the time"};
}

// True if it is recorded now.
bool Attacher::attach_to(Process& p) {
  const uint64_t now = monotonic_ns();
  const bool kernel = is_kernel_thread(p.pid);
  const char* const never = kernel ? "is a kernel thread: it runs no program"
                            : has_32_bits(p.pid)
                                ? "runs a 32-bit program: that is only recorded directly and from "
                                  "its start (--via direct -- COMMAND)"
                                : nullptr;
  Attached a = never ? Attached{Refusal::kNoLuaJIT, never} : attach_with_retries(p.pid);
  // Whatever failed, the reason is that the process was ending.
  if (!a && !kernel && process_is_ending(p.pid)) a = {Refusal::kNoProcess, "has just ended"};
  p.retry_ns = now + p.pause_ns;
  p.pause_ns = std::min(p.pause_ns * 2, kSlowestRetry);
  p.why = a.why;
  if (a) return set_attached(p), true;
  const bool may_come = a.refusal == Refusal::kNoLuaJIT || a.refusal == Refusal::kNoProcess;
  // A parent without LuaJIT may have children with one; children may execute another program.
  if (may_come && (!p.requested || options_.children || p.was_attached)) {
    if (a.refusal == Refusal::kNoLuaJIT) set_obstacle(p, process_text(p.pid) + " " + a.why);
    return processes_.detail(process_text(p.pid) + " " + a.why), false;
  }
  refused_ += options_.all && p.refusal.empty();
  if (p.refusal != a.why)
    options_.all ? processes_.detail(process_text(p.pid) + " " + a.why)
                 : processes_.report(process_text(p.pid) + " " + a.why);
  p.refusal = a.why;
  if (p.requested && refusal_ == Refusal::kNone) refusal_ = a.refusal;
  p.attaching = Attaching::kRefused;
  return false;
}

void Attacher::set_attached(Process& p) {
  p.attaching = Attaching::kAttached;
  p.was_attached = true;
  p.pause_ns = kFirstRetry;
  p.obstacle.clear();
  programs_.insert(program_of(p.pid));
  if (first_ns_ == 0) first_ns_ = monotonic_ns();
  processes_.detail(process_text(p.pid) + " is being recorded");
  std::string why;
  if (processes_.process_number(p.pid, why) == 0)
    processes_.report(process_text(p.pid) + " is not recorded: " + why);
}

// Why it is not recorded, for the last message.
void Attacher::set_obstacle(Process& p, const std::string& why) {
  if (p.obstacle.empty() && ++explained_ > kMaxExamined) return;
  p.obstacle = why;
}

// -- While it runs --

// Processes that have executed another program, or may be ready now; then children.
void Attacher::check(uint64_t now) {
  const auto& all = processes_.followed();  // grows during the loop
  for (size_t i = 0; i < all.size(); i++) {
    Process& p = *all[i];
    if (p.attached() && !backend_->holds(p.pid)) {
      forget(p, Attaching::kWaiting);
      p.retry_ns = now + kFirstRetry;  // it may be about to end
      processes_.detail(process_text(p.pid) + lost_text(p));
    }
    if (may_retry(p) && now >= p.retry_ns && continues_()) attach_to(p);
  }
  if (options_.children) follow_children();
}

// Children that were refused may execute another program.
bool Attacher::may_retry(const Process& p) const {
  return p.attaching == Attaching::kWaiting ||
         (p.attaching == Attaching::kRefused && options_.finds_processes() && !p.requested);
}

void Attacher::forget(Process& p, Attaching attaching) {
  p.attaching = attaching;
  backend_->forget(p.pid);
  processes_.end_image(p);
}

void Attacher::end(Process& p) {
  backend_->forget(p.pid);
  if (p.requested && p.attaching != Attaching::kRefused)
    processes_.detail("process " + std::to_string(p.pid) + " has ended");
}

// Full disk, or --max-size: the recording ends, or (with a file per process) that of some
// processes.
bool Attacher::check_outputs() {
  std::set<const Output*> dead;
  if (programs_.empty()) return false;
  processes_.drainer().call([&] {
    for (const auto& o : outputs_.all())
      if (o->cut_short()) dead.insert(o.get());
  });
  if (dead.empty()) return false;
  if (dead.size() == outputs_.all().size()) return true;
  for (Process* const p : processes_.followed())
    if (p->attached() && dead.contains(p->output.get())) forget(*p, Attaching::kFull);
  return false;
}

// Also children of processes without LuaJIT.
void Attacher::follow_children() {
  const auto& all = processes_.followed();  // grows during the loop
  for (size_t i = 0; i < all.size(); i++) {
    if (all[i]->attaching == Attaching::kRefused) continue;
    for (const pid_t child : children_of(all[i]->pid))
      if (continues_()) watch(child, false);
  }
}

// -- The end --

// Otherwise a user might wait for nothing.
void Attacher::warn_waiting(uint64_t now, uint64_t begin_ns) {
  if (now >= begin_ns + kResponseLimit) warn_workers();
  if (logged_waiting_ || options_.quiet || !options_.attach() || !programs_.empty() ||
      now < begin_ns + kResponseLimit)
    return;
  logged_waiting_ = true;
  log("no LuaJIT with tracepoints so far in " +
      counted(obstacles(processes_), "process", "processes") +
      "; waiting for one (^C: end, with the reasons)");
}

// --children, and no process has a LuaJIT with tracepoints.
void Attacher::warn_none_attached() const {
  log("nothing was recorded and no file was written: none of " + grouped(obstacles(processes_)) +
      " processes has a LuaJIT with tracepoints");
  log_obstacles(processes_);
}

void Attacher::log_end() {
  warn_missed_processes();
  if (refused_ > 0)
    log(counted(refused_, "process", "processes") +
        " could not be attached: --verbose has the reasons");
  if (!options_.attach() && options_.sample_hz == 0) return;
  if (options_.attach() && programs_.empty() && refusal_ == Refusal::kNone) {
    refusal_ = Refusal::kNoLuaJIT;
    return warn_none_attached();
  }
  if (processes_.rings() > 0) return;
  for (const auto& o : outputs_.all())
    if (o->totals().streams > 0) return;
  if (refusal_ == Refusal::kNone) refusal_ = Refusal::kNoEvents;
  warn_workers();
  log(options_.off_cpu
          ? "nothing was recorded: no sample came; has any thread been blocked, and run again?"
      : options_.sample_hz != 0 ? "nothing was recorded: no sample came; has it used any CPU time?"
                                : "nothing was recorded: no event came");
  log_obstacles(processes_);
}

}  // namespace luatrace::record
