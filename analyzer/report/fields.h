// SPDX-License-Identifier: MIT
// The figures of a function by name: columns of --report, keys of --sort, operands of --fail-if.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

struct Field {
  enum Kind {
    kCalls,
    kTotal,
    kSelf,
    kShare,
    kAvg,
    kMin,
    kMax,
    kStddev,
    kWall,
    kComplete,
    kPercentile
  };
  Kind kind = kSelf;
  std::string name;    // As the user calls it.
  double percent = 0;  // kPercentile

  bool is_time() const { return kind != kCalls && kind != kShare && kind != kComplete; }
  bool needs_histogram() const { return kind == kStddev || kind == kPercentile; }
  // Of calls that were seen from beginning to end only.
  bool of_complete() const {
    return kind == kAvg || kind == kMin || kind == kMax || needs_histogram();
  }
};

// "self", "p99.9", ...; empty if there is no such field.
std::optional<Field> find_field(const std::string& name);
// Commas between them. Throws UsageError.
std::vector<Field> parse_fields(const std::string& list);

// ns, a count, or per cent (kShare). Empty if nothing is known (no complete call).
std::optional<double> value_of(const Field& field, const ReportFunction& f, const Report& report);

// Whether the function is a row of tables, and in the order of a field, greatest first (or by
// name); equal ones by name. With groupings only the groups are.
std::vector<uint32_t> sorted_functions(const Report& report, const std::string& sort);

}  // namespace luatrace::analyze
