// SPDX-License-Identifier: MIT
// Session: descendants that are born during the recording (--children), also those whose parent has
// ended before we could look (daemons). Where the kernel tells of births, all are known. Else forks
// are told by what they have copied from a recorded process; of others it is said that they may be
// missing.
#include <unistd.h>

#include <algorithm>

#include "recorder/os/text.h"
#include "recorder/session.h"

namespace luatrace::record {
namespace {

// Its parent has ended: now it has one that has nothing to do with it.
bool is_orphan(pid_t pid) {
  const pid_t parent = read_process(pid).parent;
  return parent <= 1 || getsid(parent) != getsid(pid);
}

}  // namespace

// last: all that we know of have ended; what they have left behind?
void Session::follow_births(bool last) {
  if (births_ == nullptr) return;
  if (births_->told()) return take_births();
  for (const pid_t pid : births_->newcomers(monotonic_ns(), last))
    if (goes_on()) meet_stranger(pid);
}

void Session::take_births() {
  std::vector<LifeEvent> events;
  std::vector<pid_t> fresh;
  const bool complete = births_->take(events);
  for (const auto& e : events) {
    if (e.kind == LifeEvent::kFork && !family_.contains(e.parent)) {
      family_.erase(e.pid);  // the number of one that has ended
      continue;
    }
    if (e.kind == LifeEvent::kFork) family_.insert(e.pid);
    if (family_.contains(e.pid)) fresh.push_back(e.pid);
    if (e.kind == LifeEvent::kFork && process_is_gone(e.pid) &&
        std::none_of(traced_.begin(), traced_.end(), [&](const auto& t) { return t.pid == e.pid; }))
      ended_unseen_++;
  }
  for (const pid_t pid : fresh)
    if (goes_on()) meet(pid);
  if (complete) return;
  births_missing_ = true;
  for (const pid_t pid : all_processes())
    if (goes_on()) meet_stranger(pid);
}

// A descendant that was just born, or has become another program.
void Session::meet(pid_t pid) {
  if (process_is_gone(pid)) return;
  for (auto& w : watched_)
    if (w.pid == pid && !w.gone) return void(w.retry_ns = w.attached ? w.retry_ns : 0);
  if (!shares_memory(pid, read_process(pid).parent)) watch(pid, false);
}

// Nobody tells whose child it is.
void Session::meet_stranger(pid_t pid) {
  const auto is = [](pid_t p) { return [p](const Watched& w) { return w.pid == p && !w.gone; }; };
  if (std::any_of(watched_.begin(), watched_.end(), is(pid)) || process_is_gone(pid)) return;
  if (backend_->inherited(pid)) return watch(pid, false);
  const pid_t parent = read_process(pid).parent;
  if (programs_.contains(program_of(pid)) &&
      std::none_of(watched_.begin(), watched_.end(), is(parent)) && is_orphan(pid))
    strangers_.insert(pid);
}

void Session::say_births() {
  if (births_missing_)
    say("the kernel could not tell of all processes that began meanwhile: descendants whose "
        "parents "
        "have ended may be missing");
  if (ended_unseen_ > 0)
    say(grouped(ended_unseen_) + (ended_unseen_ == 1 ? " descendant" : " descendants") +
        " had ended before it was seen what program that was: if it was one with a LuaJIT, its "
        "events are missing");
  for (const auto& t : traced_) strangers_.erase(t.pid);
  if (strangers_.empty()) return;
  const size_t n = strangers_.size();
  const std::string text = pids_text({strangers_.begin(), strangers_.end()});
  say(grouped(n) + (n == 1 ? " process" : " processes") +
      " of the same program began meanwhile without a parent of their own. They may be descendants "
      "(daemons), but that cannot be told here, so they were not recorded: " +
      text + "; to record them, say -p");
}

}  // namespace luatrace::record
