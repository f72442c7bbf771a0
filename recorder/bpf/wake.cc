// SPDX-License-Identifier: MIT
#include "recorder/bpf/wake.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>

#include "recorder/os/clock.h"
#include "recorder/os/stopped.h"
#include "recorder/vm/force_poll.h"
#include "recorder/vm/lua_image.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kFirst = 2 * kMillisecond;
constexpr uint64_t kSlowest = 1000 * kMillisecond;

// It has noticed a tracer of single events or of blocks.
bool has_noticed_tracer(const vm::State& s) {
  constexpr uint64_t kTracers = 0x00ff'ffff'0000'ffff;  // lt_control: semaphore, block, segments
  return (s.seen & kTracers) != 0;
}

std::optional<lt_control> read_control(const vm::Target& target) {
  lt_control c;
  if (target.memory().read(target.image().control, c) != 0) return std::nullopt;
  return c;
}

// Of 32 bits, at that offset of the control structure. 0, or errno.
int write_control(const vm::Target& target, size_t offset, uint32_t value) {
  return target.memory().write(target.image().control + offset, value);
}

Attached no_clock(Refusal refusal, const std::string& why) {
  return {refusal,
          "cannot be recorded through BPF: the time stamp counter of this machine is not reliable, "
          "and its LuaJIT cannot be made to use another clock: it " +
              why};
}

}  // namespace

Waker::Waker(pid_t pid) : pid_(pid), due_ns_(monotonic_ns() + kFirst), pause_ns_(kFirst) {
  look();
}

LuaSearch Waker::look() {
  LuaSearch search = find_lua(pid_);
  for (const LuaImage& image : search.ours) targets_.emplace_back(pid_, image);
  return search;
}

// VMs that still make events although the semaphore is 0.
std::vector<vm::State> Waker::stale(const vm::Target& target) const {
  std::vector<vm::State> states;
  const auto c = read_control(target);
  if (!c || c->semaphore != 0 || !target.read_states(states)) return {};
  std::erase_if(states, [](const vm::State& s) { return !has_noticed_tracer(s); });
  return states;
}

bool Waker::prepare() const {
  bool any = false, able = true;
  for (const vm::Target& target : targets_) {
    std::vector<vm::State> states;
    const auto c = read_control(target);
    able = able && target.read_states(states) && c && c->ring == 0 &&
           (target.image().note.flags & LTN_REPORT) != 0;
    any = any || std::any_of(states.begin(), states.end(), has_noticed_tracer);
  }
  if (any && !able) settle();
  return any && able;
}

bool Waker::has_ring() const {
  constexpr uint32_t kRing = 1;  // LTON_RING
  for (const vm::Target& target : targets_) {
    std::vector<vm::State> states;
    const auto c = read_control(target);
    if (!c) continue;
    if (c->ring != 0 && c->socket[0] == 0) return true;
    if (!target.read_states(states)) continue;
    for (const vm::State& s : states)
      if ((s.on & kRing) != 0) return true;
  }
  return false;
}

uint32_t Waker::block_tracers() const {
  uint32_t sum = 0;
  for (const vm::Target& target : targets_)
    if (const auto c = read_control(target)) sum += c->block + c->segments;
  return sum;
}

void Waker::request_restart() const {
  for (const vm::Target& target : targets_) {
    std::vector<vm::State> states;
    if (target.read_states(states)) vm::request_report(target, states);
  }
}

void Waker::settle() const {
  const uint64_t limit = monotonic_ns() + 200 * kMillisecond;
  for (bool waiting = true; waiting && monotonic_ns() < limit; usleep(2000)) {
    waiting = false;
    for (const vm::Target& target : targets_) {
      const auto states = stale(target);
      if (states.empty() || !has_running_thread(pid_)) continue;
      vm::force_poll(target, states);
      waiting = true;
    }
    if (!waiting) break;
  }
}

void Waker::want_c(uint32_t cfuncs) {
  for (const vm::Target& target : targets_) {
    const auto c = read_control(target);
    if ((cfuncs & LTC_FFI) != 0 && (target.image().note.flags & LTN_FFI) == 0) continue;
    if (c && c->ring == 0 && write_control(target, offsetof(lt_control, cfuncs), cfuncs) == 0)
      asked_c_ = cfuncs;
  }
}

void Waker::restore_c() {
  if (asked_c_ == LTC_NONE) return;
  for (const vm::Target& target : targets_)
    if (const auto c = read_control(target); c && c->ring == 0 && c->cfuncs == asked_c_)
      write_control(target, offsetof(lt_control, cfuncs), LTC_DEFAULT);
}

Attached Waker::want_clock(uint32_t clock) {
  clock_ = clock;
  const LuaSearch search = targets_.empty() ? look() : LuaSearch{};
  for (const vm::Target& target : targets_) {
    const lt_note& note = target.image().note;
    const uint64_t address = target.image().control + offsetof(lt_control, clock);
    const uint32_t wanted = clock == note.clock ? 0 : clock;
    uint32_t current = 0;
    if ((note.flags & LTN_CLOCK) == 0) {
      if (wanted == 0) continue;
      return no_clock(Refusal::kOther,
                      "was built from an older luajit-usdt; use a newer one, or "
                      "probes/lua-calls.bt");
    }
    int error = target.memory().read(address, current);
    if (error == 0 && current != wanted) error = target.memory().write(address, wanted);
    asked_clock_ = asked_clock_ || wanted != 0;
    if (error == 0 || wanted == 0) continue;
    if (error == ESRCH || error == EFAULT) return {Refusal::kNoProcess, "no longer exists"};
    return no_clock(Refusal::kNoPermission, explain_no_access(pid_, error));
  }
  if (clock != LT_CLOCK_MONOTONIC || !targets_.empty()) return {};
  if (search.error == EPERM || search.error == EACCES)
    return no_clock(Refusal::kNoPermission, explain_no_access(pid_, search.error));
  if (!search.unusable.empty()) return no_clock(Refusal::kOther, search.unusable[0]);
  return {};  // it has none, or has ended
}

void Waker::restore_clock() const {
  if (!asked_clock_) return;
  for (const vm::Target& target : targets_)
    if (const auto c = read_control(target);
        c && c->magic == LUAJIT_USDT_MAGIC && c->block == 0 && c->segments == 0 && c->clock != 0)
      write_control(target, offsetof(lt_control, clock), 0);
}

void Waker::poll(uint64_t now) {
  if (done_ || now < due_ns_) return;
  pause_ns_ = std::min(2 * pause_ns_, kSlowest);
  due_ns_ = now + pause_ns_;
  if (targets_.empty() && clock_ != 0) want_clock(clock_);
  bool any_silent = false;
  for (const vm::Target& target : targets_) {
    std::vector<vm::State> states, silent;
    if (!target.read_states(states)) continue;
    for (const vm::State& s : states)
      if (!has_noticed_tracer(s)) silent.push_back(s);
    if (silent.empty()) continue;
    any_silent = true;
    if (has_running_thread(pid_)) vm::force_poll(target, silent);
  }
  done_ = !any_silent && !targets_.empty();  // VMs that are opened later check when they are opened
}

std::string Waker::no_response_text() const {
  size_t all = 0;
  std::vector<vm::State> states;
  for (const vm::Target& target : targets_) {
    states.clear();
    if (!target.read_states(states)) return "attached, but its memory can no longer be read";
    all += states.size();
    for (const vm::State& s : states)
      if (!has_noticed_tracer(s))
        return std::string("no Lua VM has answered yet: ") +
               vm::reason_text(vm::no_response_reason(target, s));
  }
  if (all == 0) return "attached, but it has no Lua VM (yet)";
  return "attached, but it has called no function yet";
}

}  // namespace luatrace::record::bpf
