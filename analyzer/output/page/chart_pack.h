// SPDX-License-Identifier: MIT
// Encodes the chart over time as the bytes in the page.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/output/page/flame_page.h"

namespace luatrace::analyze::page {

// The slices of all tracks in sequence, each as unsigned LEB128 numbers: levels up from one below
// the previous slice of its track; code; begin, relative to that of the previous slice (the first:
// of the earliest track); length; and then
//   code 0  calls too short to be drawn: calls, self time, suspended time
//   code 1  waits for a coroutine: its track + 1, or 0
//   code 2  suspended        code 3  filtered
//   code 4 + f  a call of function f: self time, suspended time, calls in it that are not drawn
struct PackedChart {
  std::vector<uint8_t> bytes;
  uint64_t origin_ns = 0;  // begin of the earliest track
};

// Throws std::invalid_argument if a slice refers to a function or track out of range, is not within
// its parent, or begins before the previous slice.
PackedChart pack_chart(const FlameInput& input);

}  // namespace luatrace::analyze::page
