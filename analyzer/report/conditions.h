// SPDX-License-Identifier: MIT
// --fail-if: conditions on the report, for use in tests of other programs.
//
//   or      = and { "or" and }           number = DIGITS[.DIGITS][%|ns|us|ms|s|m|h]
//   and     = term { "and" term }        value  = FIELD "(" FN ")" | "change" "(" value ")" | NAME
//   term    = "(" or ")" | value OP number
//
// Times need a unit (or to be 0), counts have none; both may be per cent where that has a meaning.
//
// FN ends at the closing bracket, or stands in quotes ('...' or "..."). If several functions fit
// FN, a comparison is true if it is for one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/report/fields.h"

namespace luatrace::analyze {

struct ConditionNode;

class Condition {
 public:
  // Throws UsageError that says what is wrong and where. Without `with_before` there is no
  // change().
  Condition(const std::string& text, bool with_before);
  Condition(Condition&&) noexcept;
  ~Condition();

  // Whether it is true. `before` is what --diff names, null if nothing. What no function fits
  // counts as 0; see missing().
  bool test(const Report& report, const Report* before) const;
  // What it says of functions, as it stands, that fits none, neither now nor before.
  std::vector<std::string> missing(const Report& report, const Report* before) const;
  bool needs_histogram() const;
  // Whether a time is compared, or its share, rather than counts alone.
  bool has_times() const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::unique_ptr<ConditionNode> root_;
};

// Whether there are groups in place of functions (--group-by file or PATTERN): a function's name
// then means nothing. Of threads, states and coroutines the functions are below their groups.
bool only_groups(const Report& report);

}  // namespace luatrace::analyze
