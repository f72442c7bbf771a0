// SPDX-License-Identifier: MIT
// --save-profile: a report without its events, in a file that is read and merged like a trace.
// docs/profile-format.md is the format.
//
// Invariants: merging is associative and commutative, to the byte: only sums of integers, minima
// and maxima are kept, and what is written is in an order of its own (functions by identity, nodes
// by function, files by name). What is read is untrusted: every count is checked against the bytes
// that are there, every index against what it points to, and the whole against its checksum.
#pragma once

#include <iosfwd>

#include "analyzer/read/input.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

constexpr uint64_t kProfileMagic = 0x464f52505441554cull;  // "LUATPROF"
constexpr uint32_t kProfileVersion = 1;

void write_profile(std::ostream& out, const Report& report);

bool is_profile(Input& input);
// Adds the profile to the report, and gives its trust. Throws Unreadable; the report is then as it
// was.
Trust read_profile(Input& input, Report& report);

}  // namespace luatrace::analyze
