// SPDX-License-Identifier: MIT
// --save-profile: a report without events, in a file that is read and merged like a trace.
// docs/profile-format.md specifies the format.
//
// Invariants: merging is associative and commutative, to the byte: only integer sums, minima and
// maxima are kept, and the output is in canonical order (functions by identity, nodes by function,
// files by name). Input is untrusted: every count is checked against the available bytes, every
// index against its table, and the whole against its checksum.
#pragma once

#include <iosfwd>

#include "analyzer/read/input.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

constexpr uint64_t kProfileMagic = 0x464f52505441554cull;  // "LUATPROF"
constexpr uint32_t kProfileVersion = 1;

// Writes the report; the caller checks the state of `out`.
void write_profile(std::ostream& out, const Report& report);

bool is_profile(Input& input);
// Adds the profile to the report and returns its trust counters. Throws Unreadable, and then leaves
// the report unchanged.
Trust read_profile(Input& input, Report& report);

}  // namespace luatrace::analyze
