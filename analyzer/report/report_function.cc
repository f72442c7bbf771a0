// SPDX-License-Identifier: MIT
#include "analyzer/report/report_function.h"

#include <algorithm>

namespace luatrace::analyze {

void add_figures(ReportFunction& to, const ReportFunction& from) {
  if (from.complete) {
    to.min_ns = to.complete ? std::min(to.min_ns, from.min_ns) : from.min_ns;
    to.max_ns = std::max(to.max_ns, from.max_ns);
    to.sum_ns += from.sum_ns;
    to.complete += from.complete;
    to.times.add(from.times);
  }
  to.calls += from.calls;
  to.self_ns += from.self_ns;
  to.running_ns += from.running_ns;
  to.wall_ns += from.wall_ns;
}

}  // namespace luatrace::analyze
