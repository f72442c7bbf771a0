// SPDX-License-Identifier: MIT
// Encodes the requests as the bytes in the page.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/output/page/flame_page.h"

namespace luatrace::analyze::page {

// Each request as unsigned LEB128 numbers: file; id; Lua VM; begin, relative to that of the chart,
// twice as much, or if it is before the chart twice the distance plus 1; running, wait, others and
// unattributed time; coroutines; 1 if it began before, plus 2 if it is unfinished, 4 if it is a
// timer's and 8 if one of its ends is not certain; and then lists,
// each after its number of items:
//   waits   function, inner function (0: none, as in ReportRequest), count, ns
//   phases  function, running time, wait time
//   steps   2 if it runs, plus 1 if the function or the inner one is not 0; length; time of others;
//           then, if it is odd: function, inner function; coroutine; phase
// The steps follow each other from the beginning of the request.
// Throws std::invalid_argument if a function is out of range.
std::vector<uint8_t> pack_requests(const FlameInput& input, uint64_t origin_ns);

}  // namespace luatrace::analyze::page
