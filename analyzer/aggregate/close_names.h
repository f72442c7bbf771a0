// SPDX-License-Identifier: MIT
// "Did you mean": which of the names that there are may have been meant by one that there is not.
#pragma once

#include <string>
#include <vector>

#include "analyzer/aggregate/report_function.h"

namespace luatrace {

class CloseNames {
 public:
  // `wanted`: as the user wrote it; of a glob or a regular expression its longest plain part
  // counts.
  explicit CloseNames(const std::string& wanted);
  void offer(const std::string& name);
  // A function's name and place, the latter with and without folders.
  void offer(const ReportFunction& function);
  // "; did you mean 'a', 'b' or 'c'?", the closest first; "" if none is close.
  std::string question() const;

 private:
  struct Found {
    size_t distance;
    std::string name;
    auto operator<=>(const Found&) const = default;
  };
  static constexpr size_t kMost = 3;

  std::string wanted_;  // In lower case.
  std::vector<Found> found_;
};

// The same of the functions of a report.
std::string did_you_mean(const std::string& wanted, const std::vector<ReportFunction>& functions);

}  // namespace luatrace
