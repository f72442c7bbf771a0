// SPDX-License-Identifier: MIT
#include "analyzer/report/report_code.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/report/report.h"
#include "analyzer/report/tree_times.h"
#include "analyzer/symbols/native_code.h"

namespace luatrace::analyze {
namespace {

auto location_of(const ReportCode& c) {
  return std::tie(c.function, c.code->module, c.code->build_id, c.code->offset);
}

struct ByLocation {
  bool operator()(const ReportCode& a, const ReportCode& b) const {
    return location_of(a) < location_of(b);
  }
};

struct Ticks {
  uint64_t calls = 0, self = 0;
};

// Sums by location in the file, over all processes and the addresses it was mapped to, before
// anything is rounded.
using LocationSums = std::map<ReportCode, Ticks, ByLocation>;

// Merges the locations of the last file with those of earlier ones.
void merge(std::vector<ReportCode>& codes) {
  std::stable_sort(codes.begin(), codes.end(), ByLocation());
  std::vector<ReportCode> merged;
  for (ReportCode& c : codes) {
    if (merged.empty() || location_of(merged.back()) != location_of(c)) {
      merged.push_back(std::move(c));
      continue;
    }
    merged.back().calls += c.calls;
    merged.back().self_ns += c.self_ns;
  }
  codes = std::move(merged);
}

}  // namespace

void add_codes(Report& report, const FileResult& file, const std::vector<ReportFunctionId>& map,
               const SymbolFinder& symbols) {
  const FunctionTable& table = file.facts.functions;
  const std::vector<FunctionTicks> ticks = function_ticks(file.profile, table.size());
  LocationSums sums_by_location;
  for (FunctionId i = kFirstFunction; i < table.size(); ++i) {
    if (table[i].type != LT_FUNC_C || map[i] == kReportRoot) continue;
    ReportCode code{map[i], 0, 0, symbols(table[i]).code};
    if (!code.code) continue;
    Ticks& sum = sums_by_location[std::move(code)];
    sum.calls += ticks[i].calls;
    sum.self += ticks[i].self;
  }
  // Ticks assigned so far: the locations' nanoseconds, rounded one by one, sum to the function's.
  std::map<ReportFunctionId, uint64_t> assigned;
  for (const auto& [location, sum] : sums_by_location) {
    uint64_t& before = assigned[location.function];
    ReportCode& code = report.codes.emplace_back(location);
    code.calls = sum.calls;
    code.self_ns = file.facts.clock.ns(before + sum.self) - file.facts.clock.ns(before);
    before += sum.self;
  }
  merge(report.codes);
}

}  // namespace luatrace::analyze
