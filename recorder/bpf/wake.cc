// SPDX-License-Identifier: MIT
// Waker; see wake.h.
#include "recorder/bpf/wake.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "recorder/os/clock.h"
#include "recorder/vm/lua_image.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kFirst = 2 * kMillisecond;
constexpr uint64_t kSlowest = 1000 * kMillisecond;

// It has noticed a tracer of single events or of blocks.
bool has_noticed_tracer(const vm::State& s) {
  return (s.seen & 0xffff) != 0 || (s.seen >> 32 & 0xffff) != 0;
}

}  // namespace

Waker::Waker(pid_t pid) : pid_(pid), due_ns_(monotonic_ns() + kFirst), pause_ns_(kFirst) {
  for (auto& image : find_lua(pid).ours) targets_.emplace_back(pid, std::move(image));
}

// VMs that still make events although the semaphore is 0.
std::vector<vm::State> Waker::stale(const vm::Target& target) const {
  std::vector<vm::State> states;
  uint16_t semaphore = 1;
  if (target.memory().read(target.image().control, semaphore) != 0 || semaphore != 0) return {};
  if (!target.read_states(states)) return {};
  std::erase_if(states, [](const vm::State& s) { return !has_noticed_tracer(s); });
  return states;
}

bool Waker::prepare() {
  bool any = false, able = true;
  on_.clear();
  for (const vm::Target& target : targets_) {
    uint32_t word = 0;
    auto& states = on_.emplace_back();
    able = able && target.read_states(states) &&
           target.memory().read(target.image().control, word) == 0 && word >> 16 == 0 &&
           (target.image().note.flags & LTN_REPORT) != 0;
    std::erase_if(states, [](const vm::State& s) { return !has_noticed_tracer(s); });
    any = any || !states.empty();
  }
  if (any && able) return true;
  on_.clear();
  if (any) settle();
  return false;
}

void Waker::ask() {
  for (size_t i = 0; i < on_.size(); i++) vm::request_report(targets_[i], on_[i]);
  on_.clear();
}

bool Waker::has_ring() const {
  constexpr uint32_t kRing = 1;  // LTON_RING
  for (const vm::Target& target : targets_) {
    lt_control c;
    std::vector<vm::State> states;
    if (target.memory().read(target.image().control, c) != 0) continue;
    if (c.ring != 0 && c.socket[0] == 0) return true;
    if (!target.read_states(states)) continue;
    for (const vm::State& s : states)
      if ((s.on & kRing) != 0) return true;
  }
  return false;
}

uint32_t Waker::block_tracers() const {
  uint32_t sum = 0;
  for (const vm::Target& target : targets_) {
    uint16_t n = 0;
    if (target.memory().read(target.image().control + offsetof(lt_control, block), n) == 0)
      sum += n;
  }
  return sum;
}

void Waker::ask_all() const {
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

void Waker::want_all_c() {
  const uint32_t all = LTC_ALL;
  for (const vm::Target& target : targets_) {
    lt_control c;
    if (target.memory().read(target.image().control, c) != 0 || c.ring != 0) continue;
    asked_c_ =
        target.memory().write(target.image().control + offsetof(lt_control, cfuncs), all) == 0;
  }
}

void Waker::restore_c() {
  const uint32_t usual = LTC_DEFAULT;
  for (const vm::Target& target : targets_) {
    lt_control c;
    if (!asked_c_ || target.memory().read(target.image().control, c) != 0) continue;
    if (c.ring == 0 && c.cfuncs == LTC_ALL)
      target.memory().write(target.image().control + offsetof(lt_control, cfuncs), usual);
  }
}

// It has acted on a control word that says that a tracer is attached.
bool Waker::answered(const vm::Target&, const vm::State& state) const {
  return has_noticed_tracer(state);
}

void Waker::poll(uint64_t now) {
  if (done_ || now < due_ns_) return;
  pause_ns_ = std::min(2 * pause_ns_, kSlowest);
  due_ns_ = now + pause_ns_;
  bool silent_ones = false;
  for (const vm::Target& target : targets_) {
    std::vector<vm::State> states, silent;
    if (!target.read_states(states)) continue;
    for (const vm::State& s : states)
      if (!answered(target, s)) silent.push_back(s);
    if (silent.empty()) continue;
    silent_ones = true;
    if (has_running_thread(pid_)) vm::force_poll(target, silent);
  }
  done_ = !silent_ones;  // VMs that are opened later check when they are opened
}

std::string Waker::no_response_text() const {
  size_t all = 0;
  for (const vm::Target& target : targets_) {
    std::vector<vm::State> states;
    if (!target.read_states(states)) return "attached, but its memory can no longer be read";
    all += states.size();
    for (const vm::State& s : states)
      if (!answered(target, s))
        return std::string("no Lua VM has answered yet: ") +
               vm::reason_text(vm::no_response_reason(target, s));
  }
  if (all == 0) return "attached, but it has no Lua VM (yet)";
  return "attached, but it has called no function yet";
}

}  // namespace luatrace::record::bpf
