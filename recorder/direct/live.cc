// SPDX-License-Identifier: MIT
#include "recorder/direct/live.h"

#include <algorithm>

#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "recorder/vm/force_poll.h"

namespace luatrace::record::direct {
namespace {

constexpr const char* kUnreadable =
    "its Lua VMs cannot be found: their list is damaged (or changes all the time)";

}  // namespace

bool is_alive(const Live& live) {
  return !process_is_ending(live.pid) &&
         std::all_of(live.targets.begin(), live.targets.end(),
                     [](const vm::Target& t) { return t.is_ours(); });
}

void renew_oldest(std::list<Live>& all, uint64_t now, const std::function<bool()>& has_time) {
  std::vector<Live*> due;
  for (auto& live : all)
    if (!live.lost && now >= live.renew_ns) due.push_back(&live);
  std::sort(due.begin(), due.end(),
            [](const Live* a, const Live* b) { return a->renew_ns < b->renew_ns; });
  for (Live* const live : due) {
    live->renew_ns = now + kRenewNs;
    for (auto& t : live->targets) live->lost = live->lost || !t.renew();
    if (!has_time()) return;
  }
}

uint64_t missed_rings(const Live& live) {
  return live.untaken - std::min(live.untaken, live.unusable);
}

// Not the maximum: for a moment a forked child has its parent's number.
void update_untaken(Live& live) {
  uint64_t all = 0;
  for (const auto& target : live.targets) {
    uint32_t untaken = 0;
    if (!target.read_untaken(untaken)) return;
    all += untaken;
  }
  if (all != live.untaken && is_alive(live)) live.untaken = all;
}

bool is_silent(const Live& live) {
  return live.taken.count() == 0 && live.taken.ringless() == 0 && live.untaken == 0;
}

std::string no_response_text(const Live& live) {
  for (const auto& target : live.targets) {
    std::vector<vm::State> states;
    target.read_states(states, 1);
    if (!states.empty()) return reason_text(no_response_reason(target, states[0]));
  }
  return "";
}

std::string late_text(Live& live, uint64_t now) {
  const Pass& pass = live.pass;
  if (live.warned_no_response || live.lost || !pass.made || pass.answered > 0 ||
      now < live.begin_ns + kResponseLimitNs)
    return "";
  live.warned_no_response = true;
  if (pass.states == 0)
    return pass.unreadable ? kUnreadable : "attached, but it has no Lua VM (yet)";
  return "no Lua VM has answered for " + time_text(static_cast<double>(now - live.begin_ns)) +
         ": " + pass.no_response;
}

bool is_idle(const Live& live) {
  return is_silent(live) && !live.pass.unopened && !live.pass.unreadable;
}

// A forked child has its parent's answer, and makes its ring when it first runs Lua.
std::string silence_text(const Live& live) {
  const Pass& pass = live.pass;
  if (live.taken.count() > 0 || live.lost || !pass.made) return "";
  if (pass.unopened)
    return "its ring could not be opened: it is its parent's (it was created without the C "
           "library's fork()), or the program has closed its descriptor";
  if (!is_silent(live) || live.warned_no_response) return "";
  if (pass.unreadable) return kUnreadable;
  if (pass.states == 0) return "it has no Lua VM";
  if (pass.answered > 0)
    return "no event came: it has run no Lua since it was forked, or only at the very end";
  return "no Lua VM has answered: " + pass.no_response;
}

}  // namespace luatrace::record::direct
