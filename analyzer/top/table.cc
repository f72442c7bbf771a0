// SPDX-License-Identifier: MIT
#include "analyzer/top/table.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "analyzer/collect/tree_links.h"
#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/report/tree_times.h"

namespace luatrace::top {

using namespace analyze;

namespace {

double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string percent_text(uint64_t part, uint64_t whole) {
  return cell_text(Cell::of_percent(percent(part, whole))) + " %";
}

// What the functions are sorted by, and their suspended times.
struct Figures {
  std::vector<uint64_t> suspended;  // By function.
  uint64_t of(const ReportFunction& f, size_t index, const std::string& field) const {
    return field == "inclusive"   ? f.inclusive_ns
           : field == "calls"     ? f.calls
           : field == "suspended" ? suspended[index]
                                  : f.self_ns;
  }
};

std::vector<uint32_t> sorted(const Report& r, const Figures& figures, const std::string& field) {
  std::vector<uint32_t> list;
  for (const uint32_t i : sorted_functions(r, "name")) {
    const ReportFunction& f = r.functions[i];
    if (f.calls || f.inclusive_ns || figures.suspended[i]) list.push_back(i);
  }
  if (field == "name") return list;
  std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
    return figures.of(r.functions[a], a, field) > figures.of(r.functions[b], b, field);
  });
  return list;
}

std::string head(const Report& r, const Trust& all) {
  std::ostringstream out;
  out << format_time(r.traced_ns) << " of " << counted(r.files[0].streams.size(), "Lua VM")
      << ": running " << percent_text(r.self_ns, r.traced_ns) << ", idle "
      << percent_text(r.idle_ns, r.traced_ns) << ", unknown " << percent_text(r.gap_ns, r.traced_ns)
      << "; " << counted(r.trust.events, "event") << ", " << format_count(r.trust.lost) << " lost ("
      << format_count(all.lost) << " in all)\n";
  return out.str();
}

}  // namespace

std::string table_text(const Report& r, const Trust& all, const TableOptions& options) {
  if (r.traced_ns == 0) return "no event came\n";
  const Figures figures{
      outermost_sums(r.tree, r.functions.size(),
                     subtree_sums(r.tree, [&](NodeId node) { return r.node_suspended_ns[node]; }))};
  Table t;
  t.name = "top";
  t.columns = {{"calls", "calls"},
               {"inclusive_ns", "inclusive"},
               {"self_ns", "self"},
               {"share", "self %"},
               {"suspended_ns", "suspended"}};
  for (Column& column : t.columns)
    if (column.key.starts_with(options.sort)) column.title += "▼";
  add_function_columns(t, "function");
  const auto list = sorted(r, figures, options.sort);
  const size_t count = options.limit ? std::min(options.limit, list.size()) : list.size();
  for (size_t n = 0; n < count; n++) {
    const ReportFunction& f = r.functions[list[n]];
    Row row{Cell::of_count(f.calls), Cell::of_time(f.inclusive_ns), Cell::of_time(f.self_ns),
            Cell::of_percent(percent(f.self_ns, r.self_ns)),
            Cell::of_time(figures.suspended[list[n]])};
    add_function_cells(row, f);
    t.rows.push_back(std::move(row));
  }
  std::ostringstream out;
  out << head(r, all);
  write_text(out, t, options.style);
  return out.str();
}

}  // namespace luatrace::top
