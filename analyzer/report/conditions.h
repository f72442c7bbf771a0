// SPDX-License-Identifier: MIT
// --fail-if: conditions on the report, for the tests of other programs.
//
//   or      = and { "or" and }           number = [+|-]DIGITS[.DIGITS][%|ns|us|ms|s|m|h]
//   and     = term { "and" term }        value  = FIELD "(" FN ")" | "change" "(" value ")" | NAME
//   term    = "(" or ")" | value OP number
//
// Times need a unit unless they are 0, counts have none; either may be a percentage where that is
// meaningful.
//
// FN ends at the closing bracket unless it is quoted ('...' or "..."). If several functions match
// FN, a comparison is true if it holds for at least one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/report/fields.h"

namespace luatrace::analyze {

struct ConditionNode;

// The value of a comparison that is true.
struct ComparedValue {
  enum Kind { kTime, kCount, kPercent } kind = kCount;
  bool change = false;  // A difference, with a sign.
  double value = 0;     // In ns, or per cent; may be infinite.
  std::string of;       // "self(work)", "lost".
};

class Condition {
 public:
  // Throws UsageError, which says what is wrong and where. change() is an error unless
  // `with_before`.
  Condition(const std::string& text, bool with_before);
  ~Condition();

  // Whether the condition is true. `before` is the report that --diff names, or null. A pattern
  // that matches no function counts as 0; see missing(). Appends the values of comparisons that are
  // true to `values`: of several functions, that of the first for which it is true.
  bool test(const Report& report, const Report* before, std::vector<ComparedValue>& values) const;
  // The patterns of the condition, as written, that match no function in either report.
  std::vector<std::string> missing(const Report& report, const Report* before) const;
  bool needs_histogram() const;
  // Whether reports of samples have all its figures.
  bool is_of_samples() const;
  // Whether any comparison is of a time or a share of time, not of counts only.
  bool has_times() const;

 private:
  std::unique_ptr<ConditionNode> root_;
};

// Whether the report has groups instead of functions (--group-by file, plugin or PATTERN), so that
// function names match nothing. Groups by thread, Lua VM or coroutine have their functions below
// them.
bool only_groups(const Report& report);

}  // namespace luatrace::analyze
