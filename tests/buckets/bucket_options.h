// SPDX-License-Identifier: MIT
// For the tests of time buckets: options as --bucket and --time-range give them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

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

}  // namespace luatrace::analyze
