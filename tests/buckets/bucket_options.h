// SPDX-License-Identifier: MIT
// For the tests of time buckets: options as --bucket and --time-range give them, and forged
// profiles.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/usage_error.h"
#include "support.h"
#include "trace/crc32c.h"

namespace luatrace::analyze {

constexpr uint64_t kSecond = 1000000000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
constexpr uint64_t kDay = 24 * kHour;
constexpr uint64_t kStart = 1763719000123456789;  // 2025-11-21T09:56:40 and a bit.

inline Report read(const std::vector<FileBytes>& files, PipelineOptions options) {
  options.histograms = true;
  return report_of(files, std::move(options));
}

inline PipelineOptions with_buckets(uint64_t width, size_t jobs = 1) {
  PipelineOptions o;
  o.bucket_ns = width;
  o.keeps_buckets = true;
  o.jobs = jobs;
  return o;
}

inline PipelineOptions in_range(TimePoint from, TimePoint to) {
  PipelineOptions o;
  o.filter.from = from;
  o.filter.to = to;
  o.jobs = 1;
  return o;
}

inline TimePoint at(uint64_t ns) {
  return {TimePoint::kAbsolute, ns, 0};
}
inline TimePoint of_day(uint64_t ns) {
  return {TimePoint::kTimeOfDay, ns, 0};
}

inline std::string why_refused(const std::vector<FileBytes>& files,
                               const PipelineOptions& options) {
  try {
    read(files, options);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

// Reads a saved profile so many times, with correct checksums and another wrong bit from `begin`
// on, where its buckets are: `check` looks at the report of what is not refused.
struct ForgedCounts {
  size_t accepted = 0, refused = 0;
};
template <class Check>
ForgedCounts read_forged(const std::string& good, size_t begin, int times, Check check) {
  std::mt19937_64 random(1);
  ForgedCounts counts;
  for (int i = 0; i < times && !::testing::Test::HasFatalFailure(); i++) {
    std::string bad = good;
    bad[begin + random() % (bad.size() - begin)] ^= static_cast<char>(1u << random() % 8);
    auto put = [&](size_t at, auto value) { memcpy(bad.data() + at, &value, sizeof value); };
    put(24, crc32c(bad.data() + 32, bad.size() - 32));
    put(28, crc32c(bad.data(), 28));
    try {
      check(read({file_bytes("p", bad)}, in_range(of_day(0), of_day(kDay))));
      saved(read({file_bytes("p", bad)}, with_buckets(kHour)));
      counts.accepted++;
    } catch (const Unreadable& e) {
      counts.refused++;
    } catch (const UsageError& e) {  // The section's tag has changed, or the length.
      counts.accepted++;
    }
  }
  return counts;
}

}  // namespace luatrace::analyze
