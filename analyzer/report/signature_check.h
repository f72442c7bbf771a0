// SPDX-License-Identifier: MIT
// By which filters and groups the sums were made that are added up or compared: those of saved
// profiles are fixed, and nobody sees in a number what was left out of it.
//
// Invariant: what stands in one table is all functions, or all groups of one kind, as far as that
// is known; else it is refused. Unlike filters are only said: two halves of a trace are a whole.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

class SignatureCheck {
 public:
  // A file as it was given, and what it brought; of a profile these are the traces in it. grouped:
  // it has groups. Throws UsageError if its groups are other ones than those of the files before.
  void add(const std::string& path, std::span<const ReportFile> files, bool grouped);
  // Which files have which filters, if not all have the same; of which it is not known how they
  // were grouped. Names in it are untrusted; their number and length are bounded.
  std::vector<std::string> remarks() const;

 private:
  struct Grouping {
    std::string path;
    bool grouped = false;
    std::optional<std::string> by;  // Empty: not known.
    bool fits(const Grouping& other) const;
    std::string text() const;
  };
  std::string unlike_filters() const;

  std::vector<Grouping> groupings_;  // Those that could be told apart from each other.
  std::map<std::string, std::vector<std::string>> paths_;  // By filters.
  std::vector<std::string> known_, unknown_;  // Paths of groups: by what they are is (not) known.
};

}  // namespace luatrace::analyze
