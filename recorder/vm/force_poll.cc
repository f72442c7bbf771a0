// SPDX-License-Identifier: MIT
#include "recorder/vm/force_poll.h"

#include "recorder/os/stopped.h"

namespace luatrace::record::vm {
namespace {

constexpr size_t kMaxForced = 1024;  // VMs at once: their process is stopped meanwhile
constexpr uint8_t kHookVmevent = 0x20, kHookGc = 0x40;  // lj_obj.h

bool flag_state(const Target& target, const State& s, uint32_t what) {
  const uint64_t flag =
      s.address + static_cast<uint64_t>(target.image().note.lt_stop) + 3;  // topmost byte
  uint8_t top = 0;
  if (target.memory().read(flag, top) != 0) return false;
  top = static_cast<uint8_t>(top | what >> 24);
  return target.memory().write(flag, top) == 0;
}

// The flag is written last: the VM restores the table when it sees it, and a thread that was asleep
// when the others were stopped may wake up between the two writes.
bool force_state(const Target& target, const State& s) {
  const lt_note& n = target.image().note;
  const std::vector<uint64_t> slots(n.nslots, target.image().poll);
  const uint64_t table = s.address + static_cast<uint64_t>(static_cast<int64_t>(n.dispatch));
  return target.memory().write(table, slots.data(), slots.size() * sizeof slots[0]) == 0 &&
         flag_state(target, s, LT_STOP_POLL);
}

// VMs that were not forced yet come first: the others have had their turn.
std::string force_states(const Target& target, const std::vector<State>& states) {
  size_t left = kMaxForced;
  for (const bool again : {false, true})
    for (const auto& s : states) {
      if (((s.stop & LT_STOP_POLL) != 0) != again || left == 0) continue;
      left--;
      if (!force_state(target, s)) return "its dispatch tables cannot be written";
    }
  return "";
}

}  // namespace

NoResponseReason no_response_reason(const Target& target, const State& state) {
  const lt_note& n = target.image().note;
  const pid_t pid = target.memory().pid();
  bool running = false, stopped = false;
  for (const pid_t tid : threads_of(pid)) {
    const char s = thread_state(pid, tid);
    running = running || s == 'R';
    stopped = stopped || s == 'T' || s == 't';
  }
  if (stopped) return NoResponseReason::kStopped;
  const auto part = [&](int32_t offset) {
    return state.address + static_cast<uint64_t>(static_cast<int64_t>(offset));
  };
  uint64_t jit_base = 0;
  uint8_t hooks = 0;
  uint32_t jit = 0;
  target.memory().read(part(n.g + n.g_jit_base), jit_base);
  target.memory().read(part(n.g + n.g_hookmask), hooks);
  if (n.jit_state >= 0) target.memory().read(part(n.jit + n.jit_state), jit);
  if (jit_base != 0) return running ? NoResponseReason::kCompiled : NoResponseReason::kForeign;
  if ((hooks & (kHookGc | kHookVmevent)) != 0) return NoResponseReason::kHandler;
  if (!running) return NoResponseReason::kSleeps;
  return jit != 0 ? NoResponseReason::kRecording : NoResponseReason::kRuns;
}

const char* reason_text(NoResponseReason s) {
  switch (s) {
    case NoResponseReason::kSleeps:
      return "it sleeps, and answers when it next runs Lua code (code that is too short to notice: "
             "when the recorder sees it run)";
    case NoResponseReason::kCompiled:
      return "it is in a long-running C function that compiled code has called by FFI, or "
             "it waits for a CPU; it answers when that call returns";
    case NoResponseReason::kForeign:
      return "it sleeps in a C function that compiled code has called by FFI, and answers when "
             "that returns";
    case NoResponseReason::kRecording:
      return "it is compiling";
    case NoResponseReason::kHandler:
      return "it is inside a finalizer or a handler of VM events";
    case NoResponseReason::kStopped:
      return "the process is stopped, by a signal or a debugger";
    case NoResponseReason::kRuns:
      return "the process runs something else, or waits for a CPU";
  }
  return "";
}

bool request_report(const Target& target, const std::vector<State>& states) {
  bool good = true;
  for (const auto& s : states) good = flag_state(target, s, LT_STOP_REPORT) && good;
  return good;
}

std::string force_poll(const Target& target, const std::vector<State>& states) {
  StoppedThreads stopped;
  std::string why;
  if (!stopped.stop_running(target.memory().pid(), why)) return why;
  return force_states(target, states);
}

std::string force_poll_asleep(const Target& target, const std::vector<State>& states) {
  StoppedThreads stopped;
  std::string why;
  const pid_t pid = target.memory().pid();
  if (!stop_is_transparent(pid)) return "";
  return stopped.stop_all(pid, why) ? force_states(target, states) : why;
}

}  // namespace luatrace::record::vm
