// SPDX-License-Identifier: MIT
// The report for people: what was recorded, the top functions, the trust line. Names are escaped.
#pragma once

#include <iosfwd>

#include "analyzer/output/views.h"

namespace luatrace::analyze {

void print_summary(std::ostream& out, const Report& report, const ViewOptions& options);
// The line that ends every report; in a narrow terminal it is several.
void print_trust(std::ostream& out, const Report& report, const TextStyle& style);

// "JIT on, GC64"; of LTF_*.
std::string flags_text(uint32_t flags);
// ", exit status 1"; of what wait() gives, "" if it is not known.
std::string exit_text(int32_t status);

}  // namespace luatrace::analyze
