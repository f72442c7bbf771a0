// SPDX-License-Identifier: MIT
// Hit: one firing of a probe (docs/probes.md) as a tracer outside of the process sees it: the BPF
// recorder, lua-calls.bt, lua-calls.stp. Hits are claims: nothing here has been checked, and
// HitWriter must cope with whatever stands in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace {

enum class HitKind : uint8_t {
  kEntry = 1,  // function__entry, cfunction__entry: L, what = function key, frame
  kReturn,     // function__return, cfunction__return: the same
  kTail,       // function__tailcall: the same
  kUnwind,     // function__unwind: L, frame
  kCreate,     // coroutine__create: L, what = co, value = coroutine id
  kResume,     // coroutine__resume: L (0: not known), what = co, value = coroutine id
  kYield,      // coroutine__yield: the same
  kEnd,        // coroutine__end: what = co, value = status (0, > 1; -1: collected)
  kOpen,       // state__open: L, what = g
  kClose,      // state__close: L, what = g
  kStack,      // coroutine__stack: L, value = n: the next n kEntry hits of L are calls that were
               // already running, outermost first
  kFork,       // not a probe: process `pid` forked, the child is process `value`
  kExec,       // not a probe: process `pid` is another program now
  kExit        // not a probe: process `pid` is gone
};

struct Hit {
  uint64_t time = 0;   // CLOCK_MONOTONIC, ns (bpf_ktime_get_ns, bpftrace's nsecs). Hits of one
                       // thread must not run backwards.
  uint64_t L = 0;      // Address of the lua_State.
  uint64_t what = 0;   // See HitKind.
  uint32_t pid = 0;    // Process (tgid), as the tracer sees it.
  uint32_t tid = 0;    // Thread, likewise: unique on the machine.
  uint32_t seq = 0;    // 1, 2, 3, ... among the hits of this thread, counted where the probe
                       // fires, before anything can be lost; wraps to 0. A jump is a loss and is
                       // written as such. All hits of a trace have one, or (all 0) none.
  uint32_t frame = 0;  // Slot offset.
  int32_t value = 0;   // See HitKind.
  uint16_t cpu = 0;
  HitKind kind = HitKind::kEntry;
};

// A function, told once for each (process, key). Which key: any number that the source gives to
// exactly one function for the life of the process. The probes' `id` alone is none if the process
// has several Lua states: each counts its own.
struct HitFunction {
  uint16_t type = 0;   // LT_FUNC_LUA, LT_FUNC_C, LT_FUNC_FF
  uint32_t line = 0;   // Of the definition, 0 for main chunks and C.
  uint32_t ffid = 0;   // Library functions.
  uint64_t addr = 0;   // C: address.
  std::string chunk;   // Lua: as LuaJIT has it, with its first character. Any byte but NUL.
  std::string name;    // "?" and "main" (probes.md) are taken as no name.
};

// A process, told at any time before its first hit is written (HitOptions.on_process asks).
struct HitProcess {
  int32_t ns_pid = 0;  // 0: as pid.
  int32_t uid = 0;
  uint32_t parent_pid = 0;  // 0: not known, or not traced.
  std::string exe;
  std::string cmdline;  // NUL between the arguments.
};

}  // namespace luatrace
