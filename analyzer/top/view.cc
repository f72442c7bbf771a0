// SPDX-License-Identifier: MIT
#include "analyzer/top/view.h"

#include <algorithm>
#include <sstream>

#include "analyzer/output/format.h"

namespace luatrace::top {

using namespace analyze;

namespace {

std::string percent_text(uint64_t part, uint64_t whole) {
  return cell_text(Cell::of_percent(percent(part, whole))) + " %";
}

}  // namespace

double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

size_t row_limit(const TableOptions& options, size_t lines, size_t others) {
  constexpr size_t kRows = 20;
  return options.limit.value_or(lines ? std::max(lines, others + 1) - others : kRows);
}

std::string sums_line(const VmTimes& times, const Trust& trust, const Trust& all) {
  std::ostringstream out;
  out << format_time(times.traced_ns) << " of " << counted(times.vms, "Lua VM") << ": running "
      << percent_text(times.running_ns, times.traced_ns) << ", idle "
      << percent_text(times.idle_ns, times.traced_ns) << ", unknown "
      << percent_text(times.unknown_ns, times.traced_ns) << "; " << counted(trust.events, "event")
      << ", " << format_count(trust.lost) << " lost (" << format_count(all.lost) << " in all)\n";
  return out.str();
}

}  // namespace luatrace::top
