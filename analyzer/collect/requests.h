// SPDX-License-Identifier: MIT
// What --requests collects of each request: its life and its ledger, in ns, with function indices
// of the file.
//
// Invariant: own + waits + others + unattributed = wall, exactly. Each of them is a sum of
// differences of the same rising clock (RequestClock), between the request's beginning and its end.
// collector + compiler <= own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/machine/functions.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

// The range of time that is shown (-r), in ticks; by default all.
struct TickRange {
  uint64_t from = 0, to = UINT64_MAX;
  bool has(uint64_t tick) const { return tick >= from && tick <= to; }
  uint64_t clamp(uint64_t tick) const { return std::clamp(tick, from, to); }
};

// The time of a stream in the range so far, in ns: all of it, that with an open call, and that
// without. What is missing to `total` is not known (gaps).
struct RequestClock {
  uint64_t tick = 0;  // This one does not stand still outside of the range.
  uint64_t total = 0, busy = 0, idle = 0;
};

struct RequestWait {
  FunctionId function;  // kNoFunction: all that are not kept apart.
  FunctionId inner;     // `function` waited for a coroutine, which waited in this; or kNoFunction.
  uint64_t count = 0, ns = 0;
};
struct RequestPhase {
  FunctionId function;  // Outermost in its coroutine; kTimerFunction. kNoFunction: as above.
  uint64_t running_ns = 0, wait_ns = 0;
};

struct RequestSums {
  StreamId stream;
  uint32_t number = 0;  // In its stream, from 1.
  RequestClock begin, end;
  uint64_t own = 0;  // Time in which it held the worker.
  // Of it: calls of the collector, with the finalizers that it calls, and of the compiler.
  uint64_t collector = 0, compiler = 0;
  uint64_t off_cpu = 0;  // Of it: the thread did not run.
  uint32_t coroutines = 0;
  bool begun_before = false;  // It began before the recording, or in a gap.
  bool unfinished = false;    // Its end was not seen.
  bool tail_call = false;     // A call that is a request (--request-by) ended with a tail call.
  bool timer = false;         // It is one of nginx's timers.
  bool unsure = false;        // One of its ends is where it is only because the host paused there.
  std::vector<RequestWait> waits;
  std::vector<RequestPhase> phases;
  std::vector<std::pair<std::string, std::string>> labels;  // Of its coroutines, the last values.

  // Whether it lived in the range; one without any time there, if all of it is in the range.
  bool is_in(const TickRange& range) const {
    const bool whole = range.has(begin.tick) && range.has(end.tick);
    return begin.tick <= range.to && end.tick >= range.from && (whole || wall() > 0);
  }
  uint64_t wall() const { return end.total - begin.total; }
  uint64_t others() const { return end.busy - begin.busy - own; }
  uint64_t waited() const;
  uint64_t unattributed() const { return wall() - own - others() - waited(); }
};

// Kinds of waits and phases that are kept apart in a request; a hostile trace could have any
// number.
constexpr size_t kMaxRequestParts = 32;
RequestWait& wait_of(RequestSums& request, FunctionId function, FunctionId inner);
RequestPhase& phase_of(RequestSums& request, FunctionId function);

}  // namespace luatrace::analyze
