// SPDX-License-Identifier: MIT
// Attacher: descendants that are created during the recording (--children), including those whose
// parent has ended before we could check it (daemons). If the kernel reports new processes, all are
// known. Otherwise forks are recognized by what they have copied from a recorded process; others
// are reported as possibly missing.
#include <unistd.h>

#include <utility>

#include "recorder/attacher.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "recorder/vm/lua_image.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxSuggested = 64;           // descendants, for a message
constexpr uint64_t kSuggesting = 200'000'000;  // ns, for what --children would record
constexpr int kLastPortions = 16;  // of process events, at the end: more than the kernel keeps

// Its parent has ended: it now has one that it does not descend from.
bool is_orphan(pid_t pid) {
  const pid_t parent = read_process(pid).parent;
  return parent <= 1 || getsid(parent) != getsid(pid);
}

// Is its program known? A parent's list of children may have shown it before the kernel's event.
bool was_examined(const Process& p) {
  return p.was_attached || p.image.number != 0 || !p.obstacle.empty() || !p.refusal.empty();
}

}  // namespace

void Attacher::follow_new_processes(bool last) {
  if (monitor_ == nullptr) return;
  if (monitor_->has_kernel_events()) {
    take_process_events();
    for (int i = 0; last && monitor_->has_more() && i < kLastPortions && continues_(); i++)
      take_process_events();
    return;
  }
  for (const pid_t pid : monitor_->new_processes(monotonic_ns(), last))
    if (continues_()) consider_unrelated(pid);
}

int Attacher::descriptor() const {
  return monitor_ != nullptr && monitor_->has_kernel_events() ? monitor_->descriptor() : -1;
}

void Attacher::take_process_events() {
  std::vector<ProcessEvent> events;
  std::vector<pid_t> fresh;
  const bool complete = monitor_->take(events);
  for (const auto& e : events) {
    const auto is_descendant = [&](pid_t pid) {
      if (options_.all) return true;
      const Process* const p = processes_.find(pid);
      return p != nullptr && p->descendant;
    };
    if (e.kind == ProcessEvent::kFork && !is_descendant(e.parent)) {
      if (is_descendant(e.pid)) processes_.known(e.pid).descendant = false;  // one that has ended
      continue;
    }
    if (e.kind == ProcessEvent::kFork) processes_.known(e.pid).descendant = true;
    if (is_descendant(e.pid)) fresh.push_back(e.pid);
    if (e.kind == ProcessEvent::kFork && process_is_gone(e.pid) &&
        !was_examined(processes_.known(e.pid)))
      ended_unseen_++;
  }
  for (const pid_t pid : fresh)
    if (continues_()) on_process(pid);
  if (complete) return;
  events_missed_ = true;
  for (const pid_t pid : all_processes())
    if (continues_()) consider_unrelated(pid);
}

// Without --children: a server's work is often done by processes that the requested one has
// started. In all this takes up to 0.2 s: rings wait meanwhile.
void Attacher::suggest_children() {
  const uint64_t until = monotonic_ns() + kSuggesting;
  for (Process* const p : processes_.followed()) {
    std::vector<pid_t> all = {p->pid}, found;
    for (size_t i = 0;
         i < all.size() && i <= kMaxSuggested && monotonic_ns() < until && continues_(); i++) {
      if (i > 0 && !is_followed(all[i]) && !find_lua(all[i], kSuggesting / 10).ours.empty())
        found.push_back(all[i]);
      for (const pid_t child : children_of(all[i])) all.push_back(child);
    }
    if (found.empty()) continue;
    p->workers =
        process_text(p->pid) + (found.size() == 1 ? ": a descendant has" : ": descendants have") +
        " a LuaJIT with tracepoints and would be recorded with --children: " + pids_text(found);
    if (!options_.quiet || !p->attached()) log(p->workers);
  }
}

// With -q only if nothing has come of what was requested.
void Attacher::warn_workers() {
  if (!options_.quiet || any_events(processes_) || std::exchange(logged_workers_, true)) return;
  for (const Process* const p : processes_.followed())
    if (p->attached() && !p->workers.empty()) log(p->workers);
}

// A descendant that was just created, or has executed another program.
void Attacher::on_process(pid_t pid) {
  if (process_is_gone(pid)) return;
  if (is_followed(pid)) {
    Process& p = processes_.known(pid);
    if (!p.attached()) p.retry_ns = 0;
    return;
  }
  if (shares_memory(pid, read_process(pid).parent)) return;
  options_.all ? consider_unrelated(pid) : watch(pid, false);
}

// A process of which no parent is known.
void Attacher::consider_unrelated(pid_t pid) {
  if (is_followed(pid) || process_is_gone(pid)) return;
  if (options_.all) return is_wanted(pid) ? watch(pid, false) : void();
  if (backend_->inherited(pid)) return watch(pid, false);
  const pid_t parent = read_process(pid).parent;
  if (programs_.contains(program_of(pid)) && !is_followed(parent) && is_orphan(pid))
    processes_.known(pid).suspect = true;
}

void Attacher::warn_missed_processes() {
  if (events_missed_)
    log("the kernel could not report all new processes: descendants whose parents have ended may "
        "be missing");
  if (ended_unseen_ > 0)
    log(counted(ended_unseen_, options_.all ? "process" : "descendant",
                options_.all ? "processes" : "descendants") +
        (ended_unseen_ == 1 ? " had ended before its program was known: "
                            : " had ended before their programs were known: ") +
        (options_.sample_hz != 0 ? "the samples of such processes are missing"
                                 : "if there was a LuaJIT, its events are missing"));
  std::vector<pid_t> suspects;
  for (const auto& [pid, p] : processes_.all())
    if (p.suspect && p.image.number == 0) suspects.push_back(pid);
  if (suspects.empty()) return;
  log(counted(suspects.size(), "process", "processes") +
      " of the same program started meanwhile without a known parent. They may be descendants "
      "(daemons), but that cannot be known here, so they were not recorded: " +
      pids_text(suspects) + "; to record them, use -p");
}

}  // namespace luatrace::record
