// SPDX-License-Identifier: MIT
#include "analyzer/machine/loop_times.h"

#include <algorithm>

namespace luatrace::analyze {
namespace {

using Wide = unsigned __int128;

// Of machine code: about, and at most.
constexpr uint64_t kBytesPerTick = 8, kFastest = 32;
constexpr uint64_t kLittle = 4096;  // Bytes of other code that leave a loop its time.
constexpr uint64_t kMemory = 1024;
constexpr uint64_t kLongest = 16;     // Means.
constexpr uint64_t kFraction = 4096;  // More than kMemory, or small differences would not count.
constexpr uint64_t kMostTicks = uint64_t{1} << 44;
constexpr uint64_t kMostWeight = uint64_t{1} << 62;

uint64_t squared(uint64_t ticks) {
  const uint64_t n = std::min(ticks, uint64_t{1} << 31);
  return n * n;
}

// Moves `mean` to what it is with another one of `count` values.
void average(uint64_t& mean, uint64_t value, uint64_t count) {
  if (value < mean)
    mean -= (mean - value) / count;
  else
    mean += (value - mean) / count;
}

}  // namespace

void LoopTimes::begin() {
  for (const size_t trace : entered_) loops_[trace].times = 0;
  entered_.clear();
  entries_ = 0;
}

void LoopTimes::entered(size_t trace) {
  if (loops_[trace].times++ == 0) entered_.push_back(trace);
  entries_++;
}

uint64_t LoopTimes::mean_of(const Loop& loop) {
  return loop.mean / kFraction;
}

// What is much longer than the mean was interrupted, and so was the first one if the second one is
// much shorter.
void LoopTimes::learn(Loop& loop, uint64_t ticks) {
  uint64_t now = std::min(ticks, kMostTicks) * kFraction;
  if (loop.learned == 1) {
    loop.mean = std::min(loop.mean, (now + kFraction) * kLongest);
    loop.variance = std::min(loop.variance, squared(mean_of(loop)));
  }
  if (loop.learned != 0) now = std::min(now, (loop.mean + kFraction) * kLongest);
  loop.learned = std::min(loop.learned + 1, kMemory);
  const uint64_t from_mean = (std::max(now, loop.mean) - std::min(now, loop.mean)) / kFraction;
  average(loop.variance, squared(from_mean), loop.learned);
  average(loop.mean, now, loop.learned);
}

// What the means of the loops and the usual speed of the other code leave, or lack, is shared by
// how uncertain they are: the loops' variance, and the square of the other code's time. Loops that
// have no mean take what is left.
void LoopTimes::share(uint64_t left, uint64_t usual) {
  Wide known = 0, variance = 0;
  uint64_t unknown = 0;
  for (const size_t trace : entered_) {
    const Loop& loop = loops_[trace];
    known += Wide{mean_of(loop)} * loop.times;
    variance += Wide{loop.variance} * loop.times;
    if (loop.learned == 0) unknown += loop.times;
  }
  const Wide part = (variance << 16) / (variance + squared(usual) + 1);
  Wide all = known;
  if (unknown == 0)
    all = left < known ? all - ((known - left) * part >> 16) : all + ((left - known) * part >> 16);
  const uint64_t rest = known < left ? left - static_cast<uint64_t>(known) : 0;
  for (const size_t trace : entered_) {
    Loop& loop = loops_[trace];
    if (loop.learned == 0)
      loop.ticks = rest / unknown;
    else
      loop.ticks = static_cast<uint64_t>(known == 0 ? all / entries_ : mean_of(loop) * all / known);
  }
}

// The other code has what the loops leave, and the time that it takes at least.
void LoopTimes::set_weights(uint64_t ticks, uint64_t code) {
  Wide wanted = 0;
  for (const size_t trace : entered_) wanted += Wide{loops_[trace].ticks} * loops_[trace].times;
  const uint64_t least = code / unit_ / kFastest + 1;
  const auto got = static_cast<uint64_t>(std::min<Wide>(wanted, ticks - std::min(ticks, least)));
  for (const size_t trace : entered_) {
    Loop& loop = loops_[trace];
    loop.weight = 0;
    if (got == 0) continue;
    const Wide weight =
        Wide{loop.ticks} * got / wanted * std::max<uint64_t>(code, 1) / (ticks - got);
    loop.weight = static_cast<uint64_t>(std::min<Wide>(weight, kMostWeight / entries_));
  }
}

void LoopTimes::apportion(uint64_t ticks, uint64_t code) {
  if (entered_.empty()) return;
  const uint64_t usual = code / unit_ / kBytesPerTick, left = ticks - std::min(ticks, usual);
  if (entries_ == 1 && code / unit_ <= kLittle) {
    Loop& loop = loops_[entered_.front()];
    loop.ticks = left;
    learn(loop, left);
  } else {
    share(left, usual);
  }
  set_weights(ticks, code);
}

}  // namespace luatrace::analyze
