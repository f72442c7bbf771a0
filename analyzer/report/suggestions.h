// SPDX-License-Identifier: MIT
// "Did you mean": existing names that are similar to one that does not exist.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/report_function.h"

namespace luatrace::analyze {

class Suggestions {
 public:
  // `wanted`: as the user wrote it; of a glob or a regular expression only the longest literal part
  // is compared.
  explicit Suggestions(const std::string& wanted);
  void offer(const std::string& name);
  // Offers the function's name and its location, the latter with and without folders.
  void offer(const FunctionName& function);
  // "; did you mean 'a', 'b' or 'c'?", the closest first; "" if none is close.
  std::string question() const;
  // Cells of edit distance tables filled so far; a measure of work for tests.
  uint64_t cells() const { return cells_; }

 private:
  struct Found {
    size_t distance;
    std::string name;
    auto operator<=>(const Found&) const = default;
  };
  static constexpr size_t kMaxNames = 3;

  std::string wanted_;  // In lower case.
  std::vector<Found> found_;
  // Greater distances are irrelevant: three names are closer, or one is much closer.
  size_t limit_ = SIZE_MAX - 1;
  uint64_t cells_ = 0;
};

// The same for the functions of a report.
std::string did_you_mean(const std::string& wanted, const std::vector<FunctionName>& functions);

}  // namespace luatrace::analyze
