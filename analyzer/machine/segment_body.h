// SPDX-License-Identifier: MIT
// What one iteration of a compiled trace does, and what the stack machine is told of it between
// event words.
//
// If the iteration is balanced, ending in the calls in which it began, n iterations are n times its
// calls, and a sink of sums needs no single events. For others the machine writes them.
//
// Invariant: the sums over n iterations are the same either way. The ticks of all iterations
// together are divided among the events of one by their code (until()), and each event's share
// among the iterations (share_of()). The first iteration has code of its own, and its own ticks.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/machine/functions.h"
#include "luatrace_format.h"

namespace luatrace::analyze {

struct SegmentBody {
  // Call 0 is the one in which the iteration begins.
  struct Call {
    uint32_t caller = 0;  // Less than its own index.
    VmFunctionId function;
  };
  std::vector<uint32_t> events;  // As words without a time.
  std::vector<uint64_t> code;    // Before each event, and before the end of the iteration; rising.
  // If it is balanced; else empty. Of each event, and of the end: the innermost call before it.
  std::vector<Call> calls;
  std::vector<uint32_t> innermost;

  bool is_balanced() const { return !calls.empty(); }
  // The ticks before event `i` (or the end) and those before it, by this code, of `ticks` in all.
  static uint64_t until(const std::vector<uint64_t>& code, size_t i, uint64_t ticks) {
    const uint64_t all = code.back();
    if (i + 1 == code.size() || all == 0) return i + 1 == code.size() ? ticks : 0;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * code[i] / all);
  }
  // Those before the beginning of iteration `turn` of `times`, if there are `share` in all.
  static uint64_t share_of(uint64_t share, uint64_t turn, uint64_t times) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(share) * turn / times);
  }
};

// Between two event words of a block.
struct SegmentCue {
  enum Kind : uint8_t {
    kApportioned,  // The times from this tick on are apportioned, ...
    kExact,        // ... until this one; those after it are exact.
    kRepeat        // Iterations of `body` from this tick on: one, then `times` more.
  };
  Kind kind = kApportioned;
  size_t at = 0;  // Before this word.
  uint64_t tick = 0;
  uint64_t first_ticks = 0;  // Of the first iteration,
  uint64_t ticks = 0;        // and of the others together.
  uint64_t times = 0;
  const SegmentBody* body = nullptr;
  const std::vector<uint64_t>* first_code = nullptr;  // As body->code, of the first one.

  uint64_t all_ticks() const { return first_ticks + ticks; }
  uint64_t all_times() const { return 1 + times; }
};

}  // namespace luatrace::analyze
