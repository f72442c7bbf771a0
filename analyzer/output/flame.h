// SPDX-License-Identifier: MIT
// The page of --flame and --page, from a report.
#pragma once

#include <iosfwd>
#include <string>

#include "analyzer/output/page/flame_page.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

// What the page shows in addition to the report.
struct FlameSource {
  const FlameChart* chart = nullptr;  // May be empty; its functions are those of the report.
  std::string no_chart;               // The reason if it is empty.
  size_t most_nodes = 300000;         // Limit of the call tree; 0: none.
};

void write_flame(std::ostream& out, const Report& report, const FlameSource& source = {});
// The same, compared with `before`; `diff` is the diff of the two reports.
void write_flame_diff(std::ostream& out, const Diff& diff, const Report& after,
                      const Report& before, const FlameSource& source);

}  // namespace luatrace::analyze
