// SPDX-License-Identifier: MIT
// Attacher: descendants that are born during the recording (--children), also those whose parent
// has ended before we could look (daemons). Where the kernel tells of births, all are known. Else
// forks are told by what they have copied from a recorded process; of others it is said that they
// may be missing.
#include <unistd.h>

#include <algorithm>

#include "recorder/attacher.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

// Its parent has ended: now it has one that has nothing to do with it.
bool is_orphan(pid_t pid) {
  const pid_t parent = read_process(pid).parent;
  return parent <= 1 || getsid(parent) != getsid(pid);
}

}  // namespace

// last: all that we know of have ended; what they have left behind?
void Attacher::follow_new_processes(bool last) {
  if (monitor_ == nullptr) return;
  if (monitor_->has_kernel_events()) return take_process_events();
  for (const pid_t pid : monitor_->new_processes(monotonic_ns(), last))
    if (goes_on_()) consider_unrelated(pid);
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
        processes_.known(e.pid).image.number == 0)
      ended_unseen_++;
  }
  for (const pid_t pid : fresh)
    if (goes_on_()) on_process(pid);
  if (complete) return;
  events_missed_ = true;
  for (const pid_t pid : all_processes())
    if (goes_on_()) consider_unrelated(pid);
}

// A descendant that was just born, or has become another program.
void Attacher::on_process(pid_t pid) {
  if (process_is_gone(pid)) return;
  if (is_followed(pid)) {
    Process& p = processes_.known(pid);
    if (!p.attached()) p.retry_ns = 0;
    return;
  }
  if (!shares_memory(pid, read_process(pid).parent)) watch(pid, false);
}

// Nobody tells whose child it is.
void Attacher::consider_unrelated(pid_t pid) {
  if (is_followed(pid) || process_is_gone(pid)) return;
  if (backend_->inherited(pid)) return watch(pid, false);
  const pid_t parent = read_process(pid).parent;
  if (programs_.contains(program_of(pid)) && !is_followed(parent) && is_orphan(pid))
    processes_.known(pid).suspect = true;
}

void Attacher::warn_missed_processes() {
  if (events_missed_)
    say("the kernel could not tell of all processes that began meanwhile: descendants whose "
        "parents "
        "have ended may be missing");
  if (ended_unseen_ > 0)
    say(grouped(ended_unseen_) + (ended_unseen_ == 1 ? " descendant" : " descendants") +
        " had ended before it was seen what program that was: if it was one with a LuaJIT, its "
        "events are missing");
  std::vector<pid_t> suspects;
  for (const auto& [pid, p] : processes_.all())
    if (p.suspect && p.image.number == 0) suspects.push_back(pid);
  if (suspects.empty()) return;
  const size_t n = suspects.size();
  const std::string text = pids_text(suspects);
  say(grouped(n) + (n == 1 ? " process" : " processes") +
      " of the same program began meanwhile without a parent of their own. They may be descendants "
      "(daemons), but that cannot be told here, so they were not recorded: " +
      text + "; to record them, say -p");
}

}  // namespace luatrace::record
