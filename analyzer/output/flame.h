// SPDX-License-Identifier: MIT
// The page of --flame and --page, from a report.
#pragma once

#include <iosfwd>

#include "analyzer/output/page/flame_page.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

// `page`: everything that does not come from the report, its chart (whose functions are those of
// the report), no_chart and max_nodes.
void write_flame(std::ostream& out, const Report& report, FlameInput page = {});
// The same, compared with `before`; `diff` is the diff of the two reports.
void write_flame_diff(std::ostream& out, const Diff& diff, const Report& after,
                      const Report& before, FlameInput page);

}  // namespace luatrace::analyze
