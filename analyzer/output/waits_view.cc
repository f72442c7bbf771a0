// SPDX-License-Identifier: MIT
// --waits: a row for each function in which coroutines were suspended, and below it one for each of
// its callers.
#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/output/views.h"
#include "analyzer/report/canonical_order.h"

namespace luatrace::analyze {
namespace {

struct WaitRow {
  ReportFunctionId function;
  ReportWait sums;
  std::vector<WaitRow> callers;
};

// The longest sum first; equal ones by name.
void sort_rows(std::vector<WaitRow>& rows, const std::vector<uint32_t>& name) {
  const auto key = [&](const WaitRow& r) {
    return std::tuple(~r.sums.total_ns, ~r.sums.unfinished, name[r.function]);
  };
  std::sort(rows.begin(), rows.end(),
            [&](const WaitRow& a, const WaitRow& b) { return key(a) < key(b); });
}

std::vector<WaitRow> sorted_waits(const Report& report) {
  std::map<ReportFunctionId, WaitRow> calls;
  for (const auto& [key, wait] : report.waits) {
    WaitRow& row = calls[key.first];
    row.function = key.first;
    row.sums += wait;
    row.callers.push_back({key.second, wait, {}});
  }
  const std::vector<uint32_t> name = name_ranks(report.functions);
  std::vector<WaitRow> rows;
  for (auto& [function, row] : calls) {
    sort_rows(row.callers, name);
    rows.push_back(std::move(row));
  }
  sort_rows(rows, name);
  return rows;
}

// Groups that replace functions have callers; others have functions.
const char* heading(const Report& report) {
  if (!report.grouped) return "function, by caller";
  const bool by_function =
      std::any_of(report.waits.begin(), report.waits.end(), [&](const auto& w) {
        return report.functions[w.first.second].kind != FunctionKind::kGroup &&
               w.first.second != kReportRoot;
      });
  return by_function ? "group, by function" : "group, by caller";
}

ReportFunction named(const Report& report, ReportFunctionId function) {
  if (function != kReportRoot) return report.functions[function];
  ReportFunction none;
  none.kind = FunctionKind::kUnknown;
  none.name = "[no caller]";
  return none;
}

void add_row(Table& t, const Report& report, const WaitRow& r, size_t parent) {
  const ReportWait& w = r.sums;
  const auto percentile = [&](double percent) {
    return w.count ? Cell::of_time(w.times.percentile(percent, w.min_ns, w.max_ns)) : Cell{};
  };
  Row row{Cell::of_count(t.rows.size() + 1),
          Cell::of_count(parent),
          Cell::of_count(parent ? 2 : 1),
          Cell::of_count(w.count),
          Cell::of_time(w.total_ns),
          percentile(50),
          percentile(99),
          w.count ? Cell::of_time(w.max_ns) : Cell{},
          Cell::of_count(w.unfinished)};
  add_function_cells(row, named(report, r.function), parent ? "  " : "");
  t.rows.push_back(std::move(row));
}

}  // namespace

Table waits_view(const Report& report, const ViewOptions& options) {
  Table t;
  t.name = "waits";
  for (const char* key : {"node", "parent", "depth"})
    t.columns.push_back({key, key, false, Column::kDataOnly});
  t.columns.insert(t.columns.end(), {{"waits", "waits"},
                                     {"waited_ns", "waited▼"},
                                     {"p50_ns", "p50"},
                                     {"p99_ns", "p99"},
                                     {"max_ns", "max"},
                                     {"unfinished", "unfinished"}});
  t.columns.back().spare = true;
  add_function_columns(t, heading(report));
  for (const WaitRow& row : sorted_waits(report)) {
    add_row(t, report, row, 0);
    const size_t parent = t.rows.size();
    for (const WaitRow& caller : row.callers) add_row(t, report, caller, parent);
  }
  if (t.rows.size() == 0) t.notes.push_back("no coroutine was suspended in a call that is shown");
  limit_rows(t, options.limit);
  return t;
}

}  // namespace luatrace::analyze
