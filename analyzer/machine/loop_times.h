// SPDX-License-Identifier: MIT
// LoopTimes: how long loops run that do not count their iterations, because there are no events in
// them. Their words tell that they ran, but not for how long: only the exact times around them do.
//
// Where there is little other code between two exact times, the loop took what is left; these
// times are learned. Elsewhere it gets the mean of them, in which the last ones count most.
//
// Invariant: the times depend on the words before alone, so the results are the same with any
// number of threads. No word costs more than a constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace luatrace::analyze {

class LoopTimes {
 public:
  // unit: weight of a byte of code (code_scale.h).
  explicit LoopTimes(uint64_t unit) : unit_(unit) {}

  // For the next trace, by its index.
  void add_trace() { loops_.emplace_back(); }

  // Between two exact times: begin(), entered() for each time that the trace was entered, and
  // apportion() with the ticks between them and the weight of the code of all traces.
  void begin();
  void entered(size_t trace);
  void apportion(uint64_t ticks, uint64_t code);
  // Of each time that it was entered, beside `code`.
  uint64_t weight(size_t trace) const { return loops_[trace].weight; }

 private:
  struct Loop {
    uint64_t mean = 0;      // Ticks, times kFraction.
    uint64_t variance = 0;  // Ticks squared.
    uint64_t learned = 0;   // Times of which that is the mean, up to kMemory.
    // Since begin():
    uint64_t times = 0;  // That it was entered,
    uint64_t ticks = 0;  // and how many it took each time.
    uint64_t weight = 0;
  };
  static uint64_t mean_of(const Loop& loop);
  static void learn(Loop& loop, uint64_t ticks);
  void share(uint64_t left, uint64_t usual);
  void set_weights(uint64_t ticks, uint64_t code);

  const uint64_t unit_;
  std::vector<Loop> loops_;
  std::vector<size_t> entered_;  // Since begin().
  uint64_t entries_ = 0;
};

}  // namespace luatrace::analyze
