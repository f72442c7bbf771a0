// SPDX-License-Identifier: MIT
// PackedWord: the segments in an event word that has several (LT_PACKED in luatrace_format.h).
//
// Invariant: the word comes from the target and may be anything. What is impossible has no places.
#pragma once

#include <cstdint>
#include <span>

#include "luatrace_format.h"

namespace luatrace {

class PackedWord {
 public:
  struct Place {
    uint32_t id = 0;
    uint64_t counts[LT_PACKED_LEVELS] = {1, 1, 1, 1};  // iterations + 1, as in LTX_SEGMENT
  };

  // word: one for which lt_is_packed() is true.
  explicit PackedWord(uint64_t word) {
    uint32_t next_level = 0;
    for (uint32_t i = 0; i < LT_PACKED_ITEMS; i++) {
      const uint32_t item = lt_packed_item(word, i);
      if (item == 0 && count_ == 0 && next_level == 0) continue;
      if (item >= LT_PACKED_PLACE) {
        places_[count_++].id = item - LT_PACKED_PLACE;
        next_level = 0;
        continue;
      }
      const uint32_t level = item / LT_PACKED_COUNTS, iterations = item % LT_PACKED_COUNTS;
      const bool last = i + 1 == LT_PACKED_ITEMS;
      if (iterations == 0 || level < next_level || last) {
        count_ = 0;
        return;
      }
      places_[count_].counts[level] = uint64_t{iterations} + 1;
      next_level = level + 1;
    }
  }

  bool is_malformed() const { return count_ == 0; }
  // In order; none if the word is malformed.
  std::span<const Place> places() const& { return {places_, count_}; }
  std::span<const Place> places() const&& = delete;

 private:
  Place places_[LT_PACKED_ITEMS];
  uint32_t count_ = 0;
};

}  // namespace luatrace
