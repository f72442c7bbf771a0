// SPDX-License-Identifier: MIT
// The default text report: what was recorded, the top functions, the trust line. Names are escaped.
#pragma once

#include <iosfwd>

#include "analyzer/output/views.h"

namespace luatrace::analyze {

void print_summary(std::ostream& out, const Report& report, const ViewOptions& options);
// The line that ends every report, wrapped in a narrow terminal.
void print_trust(std::ostream& out, const Report& report, const TextStyle& style);

// Whether -r has left out a part of a file. Events, threads and coroutines are counted in the whole
// trace.
bool has_range(const Report& report);

// "JIT on, GC64"; takes LTF_* flags.
std::string flags_text(uint32_t flags);
// ", exit status 1"; takes a status of wait(). "" if it is unknown.
std::string exit_text(int32_t status);

}  // namespace luatrace::analyze
