// SPDX-License-Identifier: MIT
// Folded stacks, one line per call path with self time: "main chunk;work;string.gsub 1234".
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/diff.h"

namespace luatrace::analyze {

// Weights are self times in units of `unit_ns` nanoseconds; call paths that round to 0 are left
// out, and rounding errors are not carried elsewhere. In names, ';' becomes ':' and control
// characters are escaped; names over 500 characters are shortened, and stacks that are too deep for
// the size of the tree are cut off (report/stack_limit.h).
void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns);
// The same with other names, indexed by function of the report. `delimiter`: a name to be put
// between functions of the program and those of the kernel that they call; "": none.
void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns,
                  std::vector<std::string> names, const std::string& delimiter = "");
// The maximum stack depth of the folded report (report/stack_limit.h); empty: no limit.
std::optional<uint32_t> folded_limit(const Report& report);
// Each line has two weights, before and after, in the format of difffolded.pl.
void write_folded_diff(std::ostream& out, const Diff& diff, uint64_t unit_ns);

}  // namespace luatrace::analyze
