// SPDX-License-Identifier: MIT
// Folded stacks, one line per call chain with self time: "main chunk;work;string.gsub 1234".
#pragma once

#include <cstdint>
#include <iosfwd>

#include "analyzer/aggregate/diff.h"

namespace luatrace {

// Weights are self times in units of `unit_ns` nanoseconds; chains that round to 0 are left out,
// and what they lose by rounding is not moved elsewhere. In names ';' becomes ':' and control
// characters are escaped.
void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns);
// The same with other names; one for each function of the report, in its order.
void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns,
                  std::vector<std::string> names);
// Two weights on each line, before and after, as difffolded.pl writes them.
void write_folded_diff(std::ostream& out, const Diff& diff, uint64_t unit_ns);

}  // namespace luatrace
