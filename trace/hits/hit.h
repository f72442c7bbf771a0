// SPDX-License-Identifier: MIT
// Hit: one firing of a probe (docs/probes.md) as an outside tracer sees it: lua-calls.bt
// or lua-calls.stp. Nothing in a hit has been checked; HitWriter must cope with any
// values.
#pragma once

#include <cstdint>
#include <functional>
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
  kExit,       // not a probe: process `pid` ended or called exec
  kLeftOut,    // of any kind, filtered out: only its seq counts
  kMax = kLeftOut
};

struct Hit {
  uint64_t time = 0;   // CLOCK_MONOTONIC, ns (bpftrace's nsecs).
  uint64_t L = 0;      // Address of the lua_State.
  uint64_t what = 0;   // See HitKind.
  uint64_t state = 0;  // Address of the global_State, 0: not known.
  uint32_t pid = 0;    // Any number that identifies one program run of one process.
  uint32_t tid = 0;    // Thread id as the tracer sees it: unique on the machine.
  uint32_t seq = 0;    // 1, 2, 3, ... among the hits of this thread, counted where the probe
                       // fires, before anything can be lost; wraps to 1. A jump is written as a
                       // loss. 0: this hit was not counted.
  uint32_t frame = 0;  // Slot offset.
  int32_t value = 0;   // See HitKind.
  HitKind kind = HitKind::kEntry;
  uint8_t reason = 0;  // kStack: LTR_*, or kNoReason

  static constexpr uint8_t kNoReason = 255;
};

// Is `seq` after `than`, modulo 2^32?
inline bool further(uint32_t seq, uint32_t than) {
  return static_cast<int32_t>(seq - than) > 0;
}

// A function key is any number that identifies one function for the life of the process. The
// probes' `id` alone is not enough if the process has several Lua VMs: each VM counts its own.
struct HitFunction {
  uint16_t type = 0;     // LT_FUNC_LUA, LT_FUNC_C, LT_FUNC_FF
  uint32_t line = 0;     // Of the definition, 0 for main chunks and C.
  uint32_t ffid = 0;     // Library functions.
  uint64_t addr = 0;     // C: address.
  std::string chunk;     // Lua: chunk name with its first character; any bytes but NUL.
  std::string name;      // As the probe reports it, with "?" and "main" for no name.
  bool defined = false;  // The name comes from the definition, not from a call.
};

struct HitLimits {
  static constexpr uint32_t kMaxStreams = 65536;
  static constexpr uint32_t kMaxCoroutines = 1u << 23;  // of one process
  static constexpr uint32_t kMaxDepth = 1u << 20;       // open calls of one coroutine
  static constexpr uint32_t kMaxFunctions = 1u << 23;   // of one process
};

struct HitOptions {
  // A hit is held back until one that is window_ns younger arrives, or more than window_hits are
  // held back. Choose both larger than the disorder between CPUs.
  uint64_t window_ns = 1'000'000'000;
  uint32_t window_hits = 1u << 20;  // 64 bytes each
  // Called once for each process, at its first hit: writes the PROCESS block (and MAPS) and returns
  // the process's number in the file. Empty: HitWriter writes a block with only the pid.
  std::function<uint32_t(uint32_t pid, uint64_t time)> on_process;
};

// All but hits and streams count anomalies; each of those is also in the file, as an LTX_LOSS.
struct HitCounters {
  uint64_t hits = 0;         // given
  uint64_t streams = 0;      // Lua VMs
  uint64_t lost = 0;         // by lost(), total(), jumps of Hit.seq; and late hits without seq
  uint64_t late = 0;         // arrived after a younger one was written: the window is too small
  uint64_t repeated = 0;     // the same (tid, seq) twice; not a loss, dropped
  uint64_t misnumbered = 0;  // a damaged seq; left out, and its number counts as lost
  uint64_t odd = 0;          // proof of a gap that nothing else reported
  uint64_t reused = 0;   // an address became another coroutine whose predecessor's end was missed
  uint64_t dropped = 0;  // malformed, or too many streams, coroutines or calls (HitLimits)
};

}  // namespace luatrace
