// SPDX-License-Identifier: MIT
// The call stack of one coroutine, as far as the trace shows it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/machine/functions.h"
#include "analyzer/read/model.h"
#include "base/grow_array.h"
#include "luatrace_format.h"

namespace luatrace::analyze {

constexpr uint64_t kNotSeen = UINT64_MAX;  // Frame.start of a call whose entry was not seen.

// Of a call in its stream, in the order of ENTRY and FRAME events.
using CallNumber = Id<struct CallsOfStream>;
// Numbers that sinks give to what they watch (collect/observers.h).
using WatchId = Id<struct WatchedCalls>;
using LifeId = Id<struct CoroutineLives>;
using RequestCoroutineId = Id<struct CoroutinesOfRequests>;
constexpr WatchId kNoWatch{0};
constexpr LifeId kNoLife{0};

// What the program says of a coroutine (LTX_LABEL), shared by those that have inherited it.
struct Label {
  std::string key, value;
};
using Labels = std::vector<Label>;
constexpr size_t kMaxLabels = 16;  // Others are ignored; the VM has fewer.

// One open call. It has 16 bytes so that the stacks stay in the first-level cache.
struct Frame {
  uint64_t start;  // Clock of the coroutine (now - suspended) at entry, or kNotSeen.
  uint32_t node;   // Node of the call tree, valid until the coroutine is attached elsewhere.
  VmFunctionId id;
};

// How a call ended.
enum class CallEnding : uint8_t {
  kReturn,
  kTail,       // By a tail call, after which the callee stands in its place.
  kError,      // It was left by an error.
  kOpen,       // It was open when the recording ended.
  kAbandoned,  // It was open when its coroutine was collected.
  kLost,       // A gap hides its end.
  kUnseen,     // Later events show that it had ended.
};
constexpr size_t kCallEndings = 7;

// What a sink that follows single calls (kFrames) keeps about one open call.
struct FrameNotes {
  uint32_t node = 0;  // Node of the call tree when the call began.
  CallNumber number;
  bool counted = false;  // The call began where the filters apply.
};

// A sink's cached answer: the nearest outer coroutine (resumer, its resumer ...) that satisfies
// some condition.
struct OuterLink {
  uint32_t epoch = 0;  // The coroutine's epoch at the time of the search.
  CoroutineId id = kNoCoroutine;
};

// A trace may have a million coroutines at a time, so each starts with memory for one call.
//
// Invariants: frames[0] is a sentinel with id kNoVmFunction (no function has it), so top is always
// valid; frames[0].node is the node of the call tree to which the stack is attached.
struct Coroutine {
  CoroutineId id;          // kUnknownCoroutine after a gap.
  uint64_t serial = 0;     // Changes after a gap: what was known is void then.
  uint32_t top = 0;        // Index of the innermost frame = number of open calls.
  uint32_t sections = 0;   // How many of the frames are sections, not calls, ...
  uint32_t ended = 0;      // ... and how many of those have ended below an open call.
  uint64_t suspended = 0;  // Total suspended ticks so far.
  uint64_t since = 0;      // While not running: tick at which it was suspended.
  bool running = false;    // It is the current coroutine or one of its resumers.
  // Number of open calls below the known frames that a gap hides; LT_DEPTH_UNKNOWN: some, number
  // unknown.
  uint32_t hidden = 0;
  // Calls that began before this (on the coroutine's clock) are only assumed to be open: an UNWIND
  // to a depth did not say which ones stayed.
  uint64_t assumed_until = 0;
  // Who gets the time while no call is open here: nobody (idle), the unknown function, or a call of
  // a resumer.
  enum class Outside : uint8_t { kIdle, kUnknown, kCall } outside = Outside::kIdle;
  bool resumer_unknown = false;  // A gap hides the coroutine that resumed it.
  bool resumed = false;          // By the coroutine `resumer`, and not suspended since.
  uint64_t yielded = kNotSeen;   // Tick at which it yielded, if it was not resumed since.
  CoroutineId resumer;
  uint64_t resumer_serial = 0;
  uint32_t resume_depth = 1;  // Number of coroutines from this one to its outermost resumer.
  std::shared_ptr<const Labels> labels;  // Null: none.
  GrowArray<Frame> frames;
  GrowArray<FrameNotes> notes;  // Parallel to frames; only for sinks with kFrames.
  // For such sinks only:
  WatchId watched_call;              // The call watched in this coroutine (--slow).
  LifeId log_entry;                  // The coroutine's entry in CoroutineLog.
  uint32_t logged_epoch = 0;         // The epoch in which CoroutineLog got to know it.
  RequestCoroutineId request_entry;  // That in RequestStream, 0: none.
  FunctionId origin;        // The group of the call that created it (Placement::inherited_from()).
  FunctionId label_group;   // The group of its label (--group-by label:KEY), or kNoFunction.
  FunctionId group;         // What runs in it belongs to (RunningGroups), or kNoFunction, ...
  uint32_t group_from = 1;  // ... from the call at this depth inwards.
  uint32_t epoch = 1;       // Changes when it wakes or its calls move.
  uint32_t marked_epoch = 0;  // Epoch in which the resumers' calls were marked as leading to -C.
  OuterLink outer_watched, outer_owner;     // Caches.
  CallEnding ending = CallEnding::kReturn;  // Of the call that closed() is told of, ...
  bool inside = false;                      // ... which began and ended in one apportioned time.
  bool stale = false;                       // A CallObserver does not know the current open calls.

  Coroutine() : frames(2, Frame{kNotSeen, 0, kNoVmFunction}) {}
};

}  // namespace luatrace::analyze
