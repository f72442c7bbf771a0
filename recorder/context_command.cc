// SPDX-License-Identifier: MIT
#include "recorder/context_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "recorder/attacher.h"
#include "recorder/direct/seccomp.h"
#include "recorder/os/clock.h"
#include "recorder/os/maps.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"
#include "recorder/requested.h"
#include "recorder/vm/force_poll.h"
#include "recorder/vm/lua_image.h"
#include "recorder/vm/target.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kPatience = 500 * kMillisecond;  // for the VMs of a process
constexpr useconds_t kPause = 2000;                 // us

bool has_process_context(pid_t pid) {
  const auto all = mappings_of(pid);
  return std::any_of(all.begin(), all.end(), [](const Mapping& m) {
    return m.path.starts_with("[anon_shmem:OTEL_CTX]") || m.path.starts_with("[anon:OTEL_CTX]") ||
           m.path.starts_with("/memfd:OTEL_CTX");
  });
}

// Switched, or why not.
Attached write_switch(const vm::Target& target, uint8_t value) {
  const uint64_t place = target.image().control + offsetof(lt_control, context);
  const pid_t pid = target.memory().pid();
  uint8_t now = 0;
  if ((target.image().note.flags & LTN_CONTEXT) == 0)
    return {Refusal::kOther, "has an older LuaJIT with tracepoints, which publishes no contexts"};
  int error = target.memory().read(place, now);
  if (error == 0 && value != 0 && now == 0 && has_process_context(pid))
    return {Refusal::kBusy,
            "has a process context already, of another publisher; there can be only one"};
  if (error == 0 && now != value) error = target.memory().write(place, value);
  if (error == 0) return {};
  return {Refusal::kNoPermission, explain_no_access(pid, error)};
}

// VMs that have not acted on it.
std::vector<vm::State> silent(const vm::Target& target, uint8_t value) {
  constexpr int kContextShift = 56;  // in the control word
  std::vector<vm::State> states;
  if (!target.read_states(states)) return {};
  std::erase_if(states, [value](const vm::State& s) { return s.seen >> kContextShift == value; });
  return states;
}

// Those that do not run Lua code now act when they next do.
std::string wait_for_vms(const vm::Target& target, uint8_t value) {
  const uint64_t limit = monotonic_ns() + kPatience;
  std::vector<vm::State> left = silent(target, value);
  for (; !left.empty() && monotonic_ns() < limit; left = silent(target, value)) {
    if (has_running_thread(target.memory().pid()))
      vm::force_poll(target, left);
    else
      vm::force_poll_asleep(target, left);
    usleep(kPause);
  }
  if (left.empty()) return "";
  return std::string("a Lua VM has not answered yet: ") +
         vm::reason_text(vm::no_response_reason(target, left[0]));
}

Attached check_seccomp(pid_t pid, const Options& options) {
  if (options.seccomp == "ignore" || options.thread_context == "off") return {};
  const direct::RingCalls calls = direct::may_publish_context(pid);
  if (calls.verdict == direct::RingCalls::kAllowed) return {};
  return {Refusal::kNoPermission, calls.why + "; --seccomp ignore takes the risk"};
}

Attached switch_process(pid_t pid, const Options& options, std::string& answer) {
  const uint8_t value = options.thread_context == "on" ? 1 : 0;
  if (const Attached a = check_set_id(pid); !a) return a;
  const LuaSearch search = find_lua(pid);
  if (search.error != 0) return {Refusal::kNoPermission, explain_no_access(pid, search.error)};
  if (search.ours.empty()) return {Refusal::kNoLuaJIT, explain_no_lua(pid, search)};
  if (const Attached a = check_seccomp(pid, options); !a) return a;
  for (const LuaImage& image : search.ours) {
    const vm::Target target(pid, image);
    if (const Attached a = write_switch(target, value); !a) return a;
    answer = wait_for_vms(target, value);
  }
  if (value == 0 || !answer.empty() || has_process_context(pid)) return {};
  answer = "no process context was published: it has no Lua VM yet, or it cannot make the mapping";
  return {};
}

}  // namespace

int switch_contexts(const Options& options) {
  Requested all = requested_processes(options);
  size_t switched = 0;
  Refusal none = Refusal::kNone;  // why nothing was switched, with --children
  for (const pid_t pid : all.pids) {
    std::string answer;
    if (const Attached a = switch_process(pid, options, answer); !a) {
      // A server's master need not have a LuaJIT.
      const bool may_lack = options.children && a.refusal == Refusal::kNoLuaJIT;
      if (!may_lack || options.verbose) log(process_text(pid) + " " + a.why);
      Refusal& refusal = may_lack ? none : all.refusal;
      if (refusal == Refusal::kNone) refusal = a.refusal;
      continue;
    }
    switched++;
    if (!answer.empty())
      log(process_text(pid) + ": " + answer);
    else if (!options.quiet)
      log(process_text(pid) + ": thread contexts are " + options.thread_context);
  }
  if (switched == 0 && all.refusal == Refusal::kNone) {
    log("neither these processes nor their descendants have a LuaJIT with tracepoints");
    all.refusal = none;
  }
  return static_cast<int>(all.refusal);
}

}  // namespace luatrace::record
