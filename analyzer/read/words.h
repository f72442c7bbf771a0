// SPDX-License-Identifier: MIT
// Event words, one record at a time (part 1 of luatrace_format.h), and their 40-bit time.
//
// The stack machine has a faster loop of its own for entries and returns; everything else, and
// everybody else, goes through here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "luatrace_format.h"

namespace luatrace::analyze {

constexpr uint64_t kTimeMask = (uint64_t{1} << LT_TIME_BITS) - 1;
constexpr uint64_t kTimeHalf = uint64_t{1} << (LT_TIME_BITS - 1);

struct Record {
  uint64_t word = 0;
  uint32_t kind = 0;                // LT_*
  uint32_t sub = 0;                 // LT_EXT: LTX_*
  uint32_t arg = 0;                 // LT_EXT: its argument
  uint64_t value = 0;               // Other kinds: payload, or the word that follows if too big.
  const uint64_t* words = nullptr;  // LT_EXT: its continuation words
  uint32_t nwords = 0;
  uint32_t length = 1;  // In words, with the first.

  // LT_EXT records that carry the full clock: its value; false for others.
  bool full_clock(uint64_t& tick) const;
};

// The record at `words` (at least 1 of `available` there). False if it is malformed: kind 0, fewer
// continuation words than its kind needs, or cut by the end of the block. length is valid then too.
bool read_record(const uint64_t* words, size_t available, Record& out);

// Full time of a word whose low 40 bits are `low`, near `now` (within 2^39 before or after).
inline uint64_t unwrap(uint64_t now, uint64_t low) {
  uint64_t delta = (low - now) & kTimeMask;
  return delta < kTimeHalf ? now + delta : now - (kTimeMask + 1 - delta);
}

}  // namespace luatrace::analyze
