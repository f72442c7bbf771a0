// SPDX-License-Identifier: MIT
// The time buckets in a saved profile: a section that refers to the functions and nodes of the
// others by their numbers (docs/profile-format.md).
//
// Invariant: what is read sums to the profile; everything else is refused, so that no view of a
// range contradicts the whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/byte_stream.h"
#include "analyzer/report/time_buckets.h"

namespace luatrace::analyze {

struct Malformed {
  const char* what;
};

// `function`, `node`: their numbers in the file, by function and node of the report.
ByteWriter write_buckets(const TimeBuckets& buckets, bool sampled,
                         const std::vector<uint32_t>& function, const std::vector<uint32_t>& node);

// In the order of the file.
constexpr uint64_t TimeBucket::*kBucketSums[] = {&TimeBucket::duration_ns, &TimeBucket::traced_ns,
                                                 &TimeBucket::self_ns, &TimeBucket::idle_ns,
                                                 &TimeBucket::gap_ns};
// Writes and reads the figures of a function, but its times.
constexpr uint64_t FunctionFigures::*kFigureMembers[] = {
    &FunctionFigures::calls,        &FunctionFigures::complete, &FunctionFigures::wall_ns,
    &FunctionFigures::inclusive_ns, &FunctionFigures::self_ns,  &FunctionFigures::min_ns,
    &FunctionFigures::max_ns,       &FunctionFigures::sum_ns};
void write_figures(ByteWriter& w, const FunctionFigures& f);
// Throws Malformed and ByteReader::Short.
void read_figures(ByteReader& in, FunctionFigures& f);

// Calls inside segments, and the sum of their times: of each function that has any its distance
// from the one before. By number in the file; null: it is not there.
void write_inside(ByteWriter& w, const std::vector<const FunctionFigures*>& figures);
// Throws as read_figures().
void read_inside(ByteReader& in, const std::vector<FunctionFigures*>& figures);

// The numbers of functions and nodes in the result are those of the file, which has so many. Throws
// as read_figures().
TimeBuckets read_buckets(ByteReader& in, size_t functions, size_t nodes);

}  // namespace luatrace::analyze
