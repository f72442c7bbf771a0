// SPDX-License-Identifier: MIT
// What filters and groups name and no file has: a filter that fits nothing is silent otherwise, and
// its empty report looks like an answer.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyzer/collect/filtered_profile.h"
#include "analyzer/filter/filter.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/report/suggestions.h"

namespace luatrace::analyze {

class UnmatchedFilters {
 public:
  explicit UnmatchedFilters(const FilterOptions& options);

  // A file that was read; what occurs in one of several is met.
  void file(const TraceFacts& facts, const FilteredProfile& profile, const SymbolFinder& symbols);
  // A line for each thing that no file had. Names in them are untrusted.
  std::vector<std::string> remarks() const;

 private:
  struct Wanted {
    std::string option;  // "-F"
    FunctionPattern pattern;
    Suggestions names;
    bool met = false;
  };
  void add(const char* option, const std::vector<std::string>& patterns);
  void offer(const FunctionName& function);
  void kinds(std::vector<std::string>& out) const;
  void coroutines(std::vector<std::string>& out) const;
  void range(std::vector<std::string>& out) const;
  void nothing_left(std::vector<std::string>& out) const;

  const FilterOptions options_;
  std::vector<Wanted> wanted_;
  std::optional<GroupPattern> group_;
  Suggestions group_names_;
  bool group_matched_ = false, any_file_ = false;
  std::set<uint32_t> threads_, states_;
  std::set<FunctionKind> kinds_;
  std::vector<bool> coroutines_;  // By filter: met.
  uint64_t traced_ = 0;
  bool shown_ = false;        // A call, or a part of one.
  uint64_t duration_ns_ = 0;  // Of the longest file.
};

}  // namespace luatrace::analyze
