// SPDX-License-Identifier: MIT
#include "analyzer/machine/loop_times.h"

#include <algorithm>

namespace luatrace::analyze {
namespace {

using Wide = unsigned __int128;

// Of machine code: about, and at most.
constexpr uint64_t kBytesPerTick = 8, kFastest = 32;
constexpr uint64_t kLittle = 4096;  // Bytes of other code that leave a loop its time.
constexpr uint64_t kMemory = 64;
constexpr uint64_t kLongest = 16;  // Means. What takes longer was interrupted.
constexpr uint64_t kMostWeight = uint64_t{1} << 62;

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

void LoopTimes::learn(Loop& loop, uint64_t ticks) {
  const uint64_t mean = loop.mean;
  if (loop.learned != 0) ticks = std::min(ticks, (mean + 1) * kLongest);
  loop.learned = std::min(loop.learned + 1, kMemory);
  loop.mean =
      ticks < mean ? mean - (mean - ticks) / loop.learned : mean + (ticks - mean) / loop.learned;
}

// Each loop takes its mean; those that have none share what that leaves of the ticks.
void LoopTimes::share(uint64_t ticks) {
  Wide known = 0;
  uint64_t unknown = 0;
  for (const size_t trace : entered_) {
    const Loop& loop = loops_[trace];
    known += Wide{loop.mean} * loop.times;
    if (loop.learned == 0) unknown += loop.times;
  }
  const uint64_t left = known < ticks ? ticks - static_cast<uint64_t>(known) : 0;
  for (const size_t trace : entered_) {
    Loop& loop = loops_[trace];
    loop.ticks = loop.learned == 0 ? left / unknown : loop.mean;
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
  const uint64_t left = ticks - std::min(ticks, code / unit_ / kBytesPerTick);
  if (entries_ == 1 && code / unit_ <= kLittle) {
    Loop& loop = loops_[entered_.front()];
    loop.ticks = left;
    learn(loop, left);
  } else {
    share(left);
  }
  set_weights(ticks, code);
}

}  // namespace luatrace::analyze
