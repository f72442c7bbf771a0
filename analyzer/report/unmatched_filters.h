// SPDX-License-Identifier: MIT
// Finds filters and groups that match nothing in any file: otherwise such a filter goes unnoticed,
// and its empty report looks like an answer.
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

  // Adds a file that was read; a filter needs to match in only one of them.
  void file(const TraceFacts& facts, const FilteredProfile& profile, const SymbolFinder& symbols);
  // One line for each filter that matched nothing. Names in them are untrusted.
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
  void groups(std::vector<std::string>& out) const;
  void kinds(std::vector<std::string>& out) const;
  void coroutines(std::vector<std::string>& out) const;
  void range(std::vector<std::string>& out) const;
  void nothing_left(std::vector<std::string>& out) const;

  const FilterOptions options_;
  std::vector<Wanted> wanted_;
  std::vector<GroupPattern> groups_;
  Suggestions group_names_;
  bool group_matched_ = false, any_file_ = false;
  std::set<ThreadId> threads_;
  std::set<StreamId> vms_;
  std::set<FunctionKind> kinds_;
  std::vector<bool> coroutines_;  // By filter: whether it matched.
  uint64_t traced_ = 0;
  bool shown_ = false;        // Whether any call, or part of one, was shown.
  uint64_t duration_ns_ = 0;  // Of the longest file.
};

}  // namespace luatrace::analyze
