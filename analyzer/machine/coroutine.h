// SPDX-License-Identifier: MIT
// The stack of one coroutine, as far as the trace tells it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/grow_array.h"
#include "luatrace_format.h"

namespace luatrace::analyze {

constexpr uint64_t kNotSeen = UINT64_MAX;  // Frame.start of a call whose entry was not seen.

// One open call. 16 bytes: the stacks stay in the first level cache.
struct Frame {
  uint64_t start;  // On the coroutine's running clock (now - suspended), or kNotSeen.
  uint32_t node;   // Of the call tree, while the coroutine stays attached where it is.
  uint32_t id;     // Function id in the stream.
};

// What a sink that follows single calls (kFrames) keeps about one open call.
struct FrameNotes {
  uint32_t node = 0;     // Of the call tree, when the call began.
  uint32_t number = 0;   // Of the call in its stream, from 0.
  bool counted = false;  // It began where the filters look.
};

// What a sink remembers about those that resumed a coroutine: the nearest for which something
// holds.
struct OuterLink {
  uint32_t epoch = 0;  // Of the coroutine, when it was looked for.
  uint32_t id = LT_ID_NONE;
};

// A trace may have a million of them at one time: so there is room for one call at first.
//
// Invariants: frames[0] is a sentinel with id LT_ID_NONE (no function has it), so top is always
// valid; frames[0].node is the place of the call tree below which the stack is attached.
struct Coroutine {
  uint32_t id = 0;         // 0: not known which.
  uint64_t serial = 0;     // Of what was known of it: another one after a gap.
  uint32_t top = 0;        // Index of the innermost frame = number of open calls.
  uint64_t suspended = 0;  // Ticks it was suspended in its life.
  uint64_t since = 0;      // While not running: suspended since then.
  bool running = false;    // It is current, or in the chain of resumers of the current one.
  // Open calls below those that are here, of which a gap hides which they are; LT_DEPTH_UNKNOWN:
  // nor is it known how many.
  uint32_t hidden = 0;
  // Whose time it is while no call is open here: nobody's, what nobody knows, or that of a call of
  // those that resumed it.
  enum class Outside : uint8_t { kIdle, kUnknown, kCall } outside = Outside::kIdle;
  bool adrift = false;   // A missing block hides who resumed it.
  bool resumed = false;  // By the coroutine `resumer`, and not suspended since.
  uint32_t resumer = 0;
  uint64_t resumer_serial = 0;
  uint32_t chain = 1;  // Length of the chain of resumers, with this one.
  GrowArray<Frame> frames;
  GrowArray<FrameNotes> notes;  // Beside the frames; only for sinks that follow single calls.
  uint32_t watched = 0;         // Such a sink's own: number of a call that it watches here,
  uint32_t record = 0;          // of what it notes about this coroutine,
  uint32_t epoch = 1;           // how often it woke or its calls moved,
  uint32_t led = 0;             // since which of these the calls further out know that they lead,
  OuterLink outer_watched, outer_owner;  // who is further out then,
  bool stale = false;  // and whether its observer does not know where calls are now.

  Coroutine() : frames(2, Frame{kNotSeen, 0, LT_ID_NONE}) {}
};

}  // namespace luatrace::analyze
