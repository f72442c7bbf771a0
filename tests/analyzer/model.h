// SPDX-License-Identifier: MIT
// An independent, slow model of the analyzer: written from docs/semantics.md alone, sharing nothing
// with analyzer/ but the numbers of event kinds. And a generator of event streams that obeys the
// rules of the VM: coroutines, errors, tail calls, switches, losses, both ends cut.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace luatrace::analyze::model {

enum class Do {
  kStart,
  kStop,
  kEntry,
  kReturn,
  kTail,
  kUnwind,
  kCreate,
  kResume,
  kYield,
  kDone,
  kError,
  kCollect,
  kSwitch,
  kStack,
  kFrame,
  kLoss,
  kBlock
};

struct Event {
  uint64_t tick;
  Do what;
  uint32_t arg = 0;    // Function, coroutine or count.
  uint32_t more = 0;   // Unwind: function then on top, 0: none. Stack: number of frames. Loss: -
  uint64_t since = 0;  // Loss.
  bool after_loss = false;  // Stack: right after one.
};

struct Numbers {
  uint64_t calls = 0, wall = 0, running = 0, self = 0, complete = 0, min = 0, max = 0, sum = 0;
  bool operator==(const Numbers&) const = default;
};

// What the model knows of each call, and of each stretch of time in which nothing changed: for
// other slow models to count in their own way.
struct Call {
  uint32_t function;
  uint64_t begin;
  uint64_t end = 0;
  bool begin_seen;
  bool end_seen = false;
  bool nested;  // Inside another open call of the same function in the same coroutine.
  uint64_t ran = 0;
  int coroutine = 0;
  std::vector<size_t> outer = {};  // Calls that were running when it began, innermost first.
};
// Of nginx, if functions kAccess and kLog are main chunks of its blocks, kChunk one of a file, and
// kTimerAt ngx.timer.at.
enum class Phase { kNone, kAccess, kLog, kTimer, kNotSet };
enum : uint32_t { kAccess = 3, kLog = 6, kChunk = 5, kTimerAt = 8 };

struct Stretch {
  uint64_t from, to;
  std::vector<size_t> running;  // Indices of calls, innermost first.
  bool gap;
  int coroutine;  // -1: none.
  Phase phase = Phase::kNone;
  std::vector<int> chain = {};           // The running coroutines, innermost first.
  std::map<int, size_t> suspended = {};  // By coroutine: for the how-manieth time, of all of them.
};
// A wait in a function; `whole`: until the coroutine was resumed.
struct Wait {
  uint32_t function;
  uint64_t from, to;
  bool whole;
};
struct Resume {
  int coroutine;
  uint64_t tick;
};

// Waits in a function.
struct Waits {
  uint64_t count = 0, sum = 0, max = 0, unfinished = 0;
  bool operator==(const Waits&) const = default;
};

// From the host's call or resume until nothing runs; not those without length.
struct Turn {
  uint64_t begin, end;
  uint32_t function;  // Outermost when it began.
  bool operator==(const Turn&) const = default;
};

struct Result {
  std::vector<Call> calls;
  std::vector<Stretch> stretches;
  std::map<uint32_t, Numbers> functions;
  std::map<uint32_t, Waits> waits;  // By function.
  std::vector<Wait> single_waits;
  std::vector<Resume> resumes;
  std::vector<Turn> turns;
  uint64_t idle = 0, gap = 0, traced = 0;
  uint64_t lost = 0, truncated = 0, open_start = 0, open_end = 0, open_gap = 0, abandoned = 0,
           unwound = 0;
  uint64_t coroutines = 0;  // Of which anything was seen.
};

// calls_resumers: C functions also call functions in coroutines that resumed their own.
std::vector<Event> generate(uint64_t seed, size_t length, bool calls_resumers = true);
std::string to_text(const std::vector<Event>& events);  // Lines for trace_text().
Result evaluate(const std::vector<Event>& events);

}  // namespace luatrace::analyze::model
