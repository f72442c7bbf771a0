// SPDX-License-Identifier: MIT
// Decodes event words, one record at a time (part 1 of luatrace_format.h), and their 40-bit time.
//
// The stack machine has its own faster loop for entries and returns; all other decoding is done
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "luatrace_format.h"

namespace luatrace::analyze {

constexpr uint64_t kTimeMask = (uint64_t{1} << LT_TIME_BITS) - 1;
constexpr uint64_t kTimeHalf = uint64_t{1} << (LT_TIME_BITS - 1);

struct Record {
  uint64_t word = 0;
  uint32_t kind = 0;                // LT_*
  uint32_t sub = 0;                 // LT_EXT: LTX_*
  uint32_t arg = 0;                 // LT_EXT: its argument
  uint64_t value = 0;               // Other kinds: payload, or the next word if that is too big.
  const uint64_t* words = nullptr;  // LT_EXT: its continuation words.
  uint32_t nwords = 0;
  uint32_t length = 1;  // In words, including the first.

  // Is it a word, or a record, that stands for the events of compiled code?
  bool is_segment() const {
    return (kind == LT_SUSPEND && value >= LT_SEGMENT_FIRST) ||
           (kind == LT_EXT && sub == LTX_SEGMENT);
  }
  // A word of several segments (trace/packed_word.h).
  bool is_packed() const { return lt_is_packed(word); }
  bool has_time() const { return !is_packed() && !(kind == LT_EXT && sub == LTX_PAD); }
  // The id of the place of another segment.
  uint64_t segment() const { return kind == LT_EXT ? words[0] - 1 : value - LT_SEGMENT_FIRST; }
  // Sets `tick` if this is an LT_EXT record with a full clock; false for other records.
  bool full_clock(uint64_t& tick) const;
};

// Decodes the record at `words`, where `available` words (at least 1) are. False if it is
// malformed: kind 0, too few continuation words for its kind, or cut by the end of the block.
// out.length is valid then, too.
bool read_record(const uint64_t* words, size_t available, Record& out);

// Text in continuation words (LT_TEXT_BYTES), and the words of a text.
std::string text_of(const uint64_t* words, uint32_t count);
std::vector<uint64_t> words_of(std::string_view text);

// An LTX_LABEL record.
struct LabelRecord {
  explicit LabelRecord(const Record& r);
  uint32_t coroutine;
  std::string key, value;
};

// Returns the full time of a word with the low 40 bits `low`, within 2^39 before or after `now`.
inline uint64_t unwrap(uint64_t now, uint64_t low) {
  uint64_t delta = (low - now) & kTimeMask;
  return delta < kTimeHalf ? now + delta : now - (kTimeMask + 1 - delta);
}

}  // namespace luatrace::analyze
