// SPDX-License-Identifier: MIT
// The chart over time to the bytes that the page carries.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/output/page/flame_page.h"

namespace luatrace::analyze::page {

// All tracks' slices one after the other, each unsigned LEB128 numbers: levels up from one below
// the slice before it in its track; code; begin, since that slice began (the first: since the
// earliest of all tracks); length; and then
//   code 0  calls too short to be drawn: calls, self time, suspended time
//   code 1  waits for a coroutine: its track + 1, or 0
//   code 2  suspended        code 3  filtered
//   code 4 + f  a call of function f: self time, suspended time, calls in it that are not drawn
struct PackedChart {
  std::vector<uint8_t> bytes;
  uint64_t origin_ns = 0;  // begin of the earliest track
};

// Throws std::invalid_argument if a slice names a function or track out of range, lies outside of
// its parent, or begins before the slice before it.
PackedChart pack_chart(const FlameInput& input);

}  // namespace luatrace::analyze::page
