// SPDX-License-Identifier: MIT
// DepthFilter (--max-depth): removes the calls of a stream that are deeper than N, their entries as
// well as their returns.
// Invariant: the output is again a well-formed stream, in which no coroutine is deeper than N.
// Where the depth is not known (after a loss), everything is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/word_scanner.h"

namespace luatrace {

class DepthFilter {
 public:
  DepthFilter(uint32_t max_depth, uint64_t start_tick) : max_(max_depth), scanner_(start_tick) {}

  // Takes whole records from the run and appends those to keep to `out`. Returns the number of
  // words taken.
  size_t run(std::span<const uint64_t> words, std::vector<uint64_t>& out);

 private:
  size_t run_plain(std::span<const uint64_t> words, std::vector<uint64_t>& out);
  void unwind(std::span<const uint64_t> record, std::vector<uint64_t>& out);
  void record(std::span<const uint64_t> record, std::vector<uint64_t>& out);

  uint32_t max_;
  WordScanner scanner_;
};

}  // namespace luatrace
