// SPDX-License-Identifier: MIT
// The call stack of one coroutine, as far as the trace shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/grow_array.h"
#include "luatrace_format.h"

namespace luatrace::analyze {

constexpr uint64_t kNotSeen = UINT64_MAX;  // Frame.start of a call whose entry was not seen.

// One open call. It has 16 bytes so that the stacks stay in the first-level cache.
struct Frame {
  uint64_t start;  // Clock of the coroutine (now - suspended) at entry, or kNotSeen.
  uint32_t node;   // Node of the call tree, valid until the coroutine is attached elsewhere.
  uint32_t id;     // Function id in the stream.
};

// What a sink that follows single calls (kFrames) keeps about one open call.
struct FrameNotes {
  uint32_t node = 0;     // Node of the call tree when the call began.
  uint32_t number = 0;   // Number of the call in its stream, from 0.
  bool counted = false;  // The call began where the filters apply.
};

// A sink's cached answer: the nearest outer coroutine (resumer, its resumer ...) that satisfies
// some condition.
struct OuterLink {
  uint32_t epoch = 0;  // The coroutine's epoch at the time of the search.
  uint32_t id = LT_ID_NONE;
};

// A trace may have a million coroutines at a time, so each starts with memory for one call.
//
// Invariants: frames[0] is a sentinel with id LT_ID_NONE (no function has it), so top is always
// valid; frames[0].node is the node of the call tree to which the stack is attached.
struct Coroutine {
  uint32_t id = 0;         // 0: unknown.
  uint64_t serial = 0;     // Changes after a gap: what was known is void then.
  uint32_t top = 0;        // Index of the innermost frame = number of open calls.
  uint64_t suspended = 0;  // Total suspended ticks so far.
  uint64_t since = 0;      // While not running: tick at which it was suspended.
  bool running = false;    // It is the current coroutine or one of its resumers.
  // Number of open calls below the known frames that a gap hides; LT_DEPTH_UNKNOWN: some, number
  // unknown.
  uint32_t hidden = 0;
  // Who gets the time while no call is open here: nobody (idle), the unknown function, or a call of
  // a resumer.
  enum class Outside : uint8_t { kIdle, kUnknown, kCall } outside = Outside::kIdle;
  bool adrift = false;   // A missing block hides who resumed it.
  bool resumed = false;  // By the coroutine `resumer`, and not suspended since.
  uint32_t resumer = 0;
  uint64_t resumer_serial = 0;
  uint32_t chain = 1;  // Number of coroutines from this one to its outermost resumer.
  GrowArray<Frame> frames;
  GrowArray<FrameNotes> notes;  // Parallel to frames; only for sinks with kFrames.
  uint32_t watched = 0;         // For such sinks: number of the call watched here; 0: none.
  uint32_t record = 0;          // For such sinks: number of their record about the coroutine.
  uint32_t epoch = 1;           // Changes when it wakes or its calls move.
  uint32_t led = 0;             // Epoch for which outer calls are marked as leading to a target.
  OuterLink outer_watched, outer_owner;  // Caches for such sinks.
  bool stale = false;                    // The sink's view of where the calls are is outdated.

  Coroutine() : frames(2, Frame{kNotSeen, 0, LT_ID_NONE}) {}
};

}  // namespace luatrace::analyze
