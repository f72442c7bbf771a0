// SPDX-License-Identifier: MIT
// Figures of a function, selected by name: columns of --report, keys of --sort, operands of
// --fail-if.
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
    kInclusive,
    kSelf,
    kShare,
    kAvg,
    kMin,
    kMax,
    kStddev,
    kWall,
    kComplete,
    kCpu,
    kSelfCpu,
    kSamples,
    kError,
    kCompiled,
    kPercentile
  };
  Kind kind = kSelf;
  std::string name;    // Of --fields.
  double percent = 0;  // kPercentile
  // kInclusive: an earlier name, which data has, too (Column::former).
  std::string former{};

  bool is_time() const {
    return kind != kCalls && kind != kComplete && kind != kSamples && !is_share();
  }
  bool is_share() const { return kind == kShare || kind == kError || kind == kCompiled; }
  // Whether samples have it.
  bool of_samples() const {
    return kind == kSamples || kind == kInclusive || kind == kSelf || is_share();
  }
  bool needs_histogram() const { return kind == kStddev || kind == kPercentile; }
  // Whether the figure depends on the times of single calls, which inside segments are not known.
  bool of_single() const { return kind == kMin || kind == kMax || needs_histogram(); }
  // Whether the figure covers only calls that were seen from beginning to end.
  bool of_complete() const {
    return kind == kAvg || kind == kMin || kind == kMax || needs_histogram();
  }
};

// Takes "self", "p99.9" and so on; empty if there is no such field.
std::optional<Field> find_field(const std::string& name);
// Takes names separated by commas. Throws UsageError.
std::vector<Field> parse_fields(const std::string& list);

// In ns, a count, or per cent of `self_ns`, that of all functions (kShare). Empty if unknown (no
// complete call, or some inside segments).
std::optional<double> value_of(const Field& field, const ReportFunction& f, uint64_t self_ns);

// The functions that are rows of tables (with --group-by only the groups), sorted by the field
// `sort` in descending order, or by name; equal ones by name.
std::vector<uint32_t> sorted_functions(const Report& report, const std::string& sort);

}  // namespace luatrace::analyze
