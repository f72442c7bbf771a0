// SPDX-License-Identifier: MIT
// Folded stacks, one line per call chain with self time: "main chunk;work;string.gsub 1234".
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/diff.h"

namespace luatrace::analyze {

// Weights are self times in units of `unit_ns` nanoseconds; chains that round to 0 are left out,
// and what they lose by rounding is not moved elsewhere. In names ';' becomes ':' and control
// characters are escaped; longer names than 500 characters are shortened, and stacks that are too
// deep for the size of the tree are cut off (report/stack_limit.h).
void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns);
// The same with other names; one for each function of the report, in its order.
void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns,
                  std::vector<std::string> names);
// How deep the stacks of a folded report can be (report/stack_limit.h); none: all of them.
std::optional<uint32_t> folded_limit(const Report& report);
// Two weights on each line, before and after, as difffolded.pl writes them.
void write_folded_diff(std::ostream& out, const Diff& diff, uint64_t unit_ns);

}  // namespace luatrace::analyze
