// SPDX-License-Identifier: MIT
// Hit: one firing of a probe (docs/probes.md) as a tracer outside of the process sees it: the BPF
// recorder, lua-calls.bt, lua-calls.stp. Hits are claims: nothing here has been checked, and
// HitWriter must cope with whatever stands in them.
#pragma once

#include <cstdint>
#include <string>

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
  kStack,      // coroutine__stack: L, state, value = coroutine id, frame = n, reason: the next n
               // kEntry hits of L are calls that were already running, outermost first
  kOpen,       // state__open: L, state
  kClose,      // state__close: L, state
  kExit,       // not a probe: process `pid` is gone, or another program now
  kLeftOut,    // of any kind, not wanted: only its seq counts
  kMax = kLeftOut
};

struct Hit {
  uint64_t time = 0;   // CLOCK_MONOTONIC, ns (bpf_ktime_get_ns, bpftrace's nsecs).
  uint64_t L = 0;      // Address of the lua_State.
  uint64_t what = 0;   // See HitKind.
  uint64_t state = 0;  // Address of the global_State, 0: not known.
  uint32_t pid = 0;    // Process: any number that means one image of one process.
  uint32_t tid = 0;    // Thread, as the tracer sees it: unique on the machine.
  uint32_t seq = 0;    // 1, 2, 3, ... among the hits of this thread, counted where the probe
                       // fires, before anything can be lost; wraps over 0 to 1. A jump is a loss
                       // and is written as such. 0: this hit was not counted.
  uint32_t frame = 0;  // Slot offset.
  int32_t value = 0;   // See HitKind.
  HitKind kind = HitKind::kEntry;
  uint8_t reason = 0;  // kStack: LTR_*, or kNoReason

  static constexpr uint8_t kNoReason = 255;
};

// Is the number `seq` further than `than`? Of numbers that wrap the nearer way counts.
inline bool further(uint32_t seq, uint32_t than) {
  return static_cast<int32_t>(seq - than) > 0;
}

// Which function key: any number that means exactly one function for the life of the process. The
// probes' `id` alone is none if the process has several Lua states: each counts its own.
struct HitFunction {
  uint16_t type = 0;     // LT_FUNC_LUA, LT_FUNC_C, LT_FUNC_FF
  uint32_t line = 0;     // Of the definition, 0 for main chunks and C.
  uint32_t ffid = 0;     // Library functions.
  uint64_t addr = 0;     // C: address.
  std::string chunk;     // Lua: as LuaJIT has it, with its first character. Any byte but NUL.
  std::string name;      // As the probe has it; its words for "no name", "?" and "main", are known.
  bool defined = false;  // The name is that of the definition, not of a call.
};

}  // namespace luatrace
