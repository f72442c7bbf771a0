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

auto place_of(const ReportCode& c) {
  return std::tie(c.function, c.code->module, c.code->build_id, c.code->offset);
}

struct ByPlace {
  bool operator()(const ReportCode& a, const ReportCode& b) const {
    return place_of(a) < place_of(b);
  }
};

struct Ticks {
  uint64_t calls = 0, self = 0;
};

// Sums by location in the file, over all processes and the addresses it was mapped to, before
// anything is rounded.
using Places = std::map<ReportCode, Ticks, ByPlace>;

// Merges the locations of the last file with those of earlier ones.
void merge(std::vector<ReportCode>& codes) {
  std::stable_sort(codes.begin(), codes.end(), ByPlace());
  std::vector<ReportCode> merged;
  for (ReportCode& c : codes) {
    if (merged.empty() || place_of(merged.back()) != place_of(c)) {
      merged.push_back(std::move(c));
      continue;
    }
    merged.back().calls += c.calls;
    merged.back().self_ns += c.self_ns;
  }
  codes = std::move(merged);
}

}  // namespace

void add_codes(Report& report, const FileResult& file, const std::vector<uint32_t>& map,
               const SymbolFinder& symbols) {
  const FunctionTable& table = file.facts.functions;
  const std::vector<FunctionTicks> ticks = function_ticks(file.profile, table.size());
  Places places;
  for (uint32_t i = kFirstFunction; i < table.size(); i++) {
    if (table[i].type != LT_FUNC_C || map[i] == 0) continue;
    ReportCode code{map[i], 0, 0, symbols(table[i]).code};
    if (!code.code) continue;
    Ticks& sum = places[std::move(code)];
    sum.calls += ticks[i].calls;
    sum.self += ticks[i].self;
  }
  // Ticks assigned so far: the locations' nanoseconds, rounded one by one, sum to the function's.
  std::map<uint32_t, uint64_t> given;
  for (const auto& [place, sum] : places) {
    uint64_t& before = given[place.function];
    ReportCode& code = report.codes.emplace_back(place);
    code.calls = sum.calls;
    code.self_ns = file.facts.clock.ns(before + sum.self) - file.facts.clock.ns(before);
    before += sum.self;
  }
  merge(report.codes);
}

}  // namespace luatrace::analyze
