// SPDX-License-Identifier: MIT
// An independent, slow model of the analyzer: written from docs/semantics.md alone, sharing nothing
// with analyzer/ but the numbers of event kinds. And a generator of event streams that obeys the
// rules of the VM: coroutines, errors, tail calls, switches, losses, both ends cut.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace luatrace::model {

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
  bool after_loss = false;  // Stack.
};

struct Numbers {
  uint64_t calls = 0, wall = 0, running = 0, self = 0, complete = 0, min = 0, max = 0, sum = 0;
  bool operator==(const Numbers&) const = default;
};

struct Result {
  std::map<uint32_t, Numbers> functions;
  uint64_t idle = 0, gap = 0, traced = 0;
  uint64_t lost = 0, truncated = 0, open_start = 0, open_end = 0, abandoned = 0, unwound = 0;
};

std::vector<Event> generate(uint64_t seed, size_t length);
std::string to_text(const std::vector<Event>& events);  // Lines for trace_text().
Result evaluate(const std::vector<Event>& events);

}  // namespace luatrace::model
