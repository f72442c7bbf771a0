// SPDX-License-Identifier: MIT
// Live: what is known of an attached process, its sign of life, and the messages about one of which
// nothing came.
// Invariant: what a pass found is kept only if the process still existed after it, and only while
// it is recorded: a process that ends, or is asked to stop, is no reason to report anything else.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "recorder/direct/taken_rings.h"
#include "recorder/vm/target.h"

namespace luatrace::record::direct {

constexpr uint64_t kRenewNs = 250'000'000;            // between signs of life
constexpr uint64_t kResponseLimitNs = 2'000'000'000;  // then a message names the reason

// What a pass over a process found.
struct Pass {
  bool made = false;                // false: there was none yet
  bool unreadable = false;          // a list of VMs was
  bool unopened = false;            // there was a ring that could not be opened
  size_t states = 0, answered = 0;  // VMs
  size_t untried = 0;               // VMs whose rings there was no time to open
  bool more = false;                // there was none after some rings had been opened
  std::string no_response;          // why some have not answered
};

// A process and its LuaJITs.
struct Live {
  pid_t pid = 0;
  uint64_t begin_ns = 0, begin_tick = 0;  // of attaching
  std::vector<vm::Target> targets;
  std::vector<int> guarded;  // its numbers in the guardian
  TakenRings taken;
  uint64_t renew_ns = 0, force_ns = 0, force_pause_ns = 0;
  bool released = false;  // the recording ends
  bool lost = false, warned_no_response = false, force_failed = false;
  size_t ring_turn = 0;    // of the rings to be opened, the first: after those that cannot be
  size_t target_turn = 0;  // the LuaJIT that is read first
  uint64_t rings_ns = 0;   // left for new rings in this pass
  bool too_many = false;   // it has more VMs than are read
  uint64_t untaken = 0;    // rings that were closed before they were opened
  uint64_t unusable = 0;   // rings that could not be opened, for a reason that was reported
  Pass pass;               // the last one
};

// Is it still the program that was attached, and not ending?
bool is_alive(const Live& live);
// Renews the sign of life in each process where kRenewNs (at `now`) have passed since the last one,
// while there is time: the oldest first.
void renew_oldest(std::list<Live>& all, uint64_t now, const std::function<bool()>& has_time);
// Rings that were closed before they were opened, apart from those reported as unusable.
uint64_t missed_rings(const Live& live);
// Reads live.untaken again, if the process has its memory.
void update_untaken(Live& live);
// Did no Lua VM of it have a ring, or try to make one?
bool is_silent(const Live& live);
// Why the first VM that has not answered did not.
std::string no_response_text(const Live& live);
// The reason, once, if no VM has answered for a while. Empty: there is nothing to report.
std::string late_text(Live& live, uint64_t now);
// Is it silent because it does no Lua work, as far as the last pass shows?
bool is_idle(const Live& live);
// At the end, if it is silent: why. Empty: there is nothing to report.
std::string silence_text(const Live& live);

}  // namespace luatrace::record::direct
