// SPDX-License-Identifier: MIT
// --json: one object with `trace`, `functions` and `trust`; see docs/semantics.md.
#pragma once

#include <iosfwd>
#include <vector>

#include "analyzer/output/table.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

// Each view adds a member, an array of objects; views with the same name are joined. `corrected`
// adds the times of functions without the cost of recording.
void write_json(std::ostream& out, const Report& report, const std::vector<Table>& views = {},
                bool corrected = false);

// Only the views, likewise.
void write_json(std::ostream& out, const std::vector<Table>& views);

}  // namespace luatrace::analyze
