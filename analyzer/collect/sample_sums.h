// SPDX-License-Identifier: MIT
// Numbers of samples, of what a sampled trace has. Of the kind that is shown, unless said
// otherwise.
#pragma once

#include <cstdint>

namespace luatrace::analyze {

struct SampleSums {
  uint64_t samples = 0;
  uint64_t filtered = 0;               // Of them, left out by filters.
  uint64_t truncated = 0;              // Of them, with more frames than the trace has.
  uint64_t unknown_frames = 0;         // In them.
  uint64_t others = 0, others_ns = 0;  // Of the other kind.

  SampleSums& operator+=(const SampleSums& other);
  SampleSums& operator-=(const SampleSums& other);
  bool operator==(const SampleSums&) const = default;
};

// In the order of saved profiles.
constexpr uint64_t SampleSums::*kSampleSums[] = {
    &SampleSums::samples,        &SampleSums::filtered, &SampleSums::truncated,
    &SampleSums::unknown_frames, &SampleSums::others,   &SampleSums::others_ns};

inline SampleSums& SampleSums::operator+=(const SampleSums& other) {
  for (uint64_t SampleSums::*sum : kSampleSums) this->*sum += other.*sum;
  return *this;
}
inline SampleSums& SampleSums::operator-=(const SampleSums& other) {
  for (uint64_t SampleSums::*sum : kSampleSums) this->*sum -= other.*sum;
  return *this;
}

}  // namespace luatrace::analyze
