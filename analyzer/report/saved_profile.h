// SPDX-License-Identifier: MIT
// --save-profile: a report without events, in a file that is read and merged like a trace.
// docs/profile-format.md specifies the format.
//
// Invariants: merging is associative and commutative, to the byte: only integer sums, minima and
// maxima are kept, and the output is in canonical order (functions by identity, nodes by function,
// files by name). Input is untrusted: every count is checked against the available bytes, every
// index against its table, and the whole against its checksum.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "analyzer/read/input.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

constexpr uint64_t kProfileMagic = 0x464f52505441554cull;  // "LUATPROF"
// Profiles of samples have the second version: older programs would take samples for calls. With
// time buckets they have the third: a range of them would have figures of the whole in older ones.
constexpr uint32_t kProfileVersion = 1, kSampledVersion = 2, kSampledBucketsVersion = 3;

// Writes the report; the caller checks the state of `out`.
void write_profile(std::ostream& out, const Report& report);

bool is_profile(Input& input);

// What is read of a profile with time buckets.
struct BucketChoice {
  uint64_t width_ns = 0;               // Merge them into buckets of that length; 0: as they are.
  const BucketRange* range = nullptr;  // Only what is in it; null: all.
  bool keep = true;                    // The report gets the buckets, too.
  std::function<void(const std::string&)> warn;
};
// Adds the profile to the report and returns its trust counters. Throws Unreadable, and UsageError
// if it does not have what is chosen, and then leaves the report unchanged. If the report has time
// buckets, those of the profile must be as long.
Trust read_profile(Input& input, Report& report, const BucketChoice& choice = {});

}  // namespace luatrace::analyze
