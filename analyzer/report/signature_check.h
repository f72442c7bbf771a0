// SPDX-License-Identifier: MIT
// Checks that sums which are added or compared have the same filters and groups: those of saved
// profiles are fixed, and a number does not show what was left out of it.
//
// Invariant: the rows of a table are all functions, or all groups of one kind, as far as known;
// other files are refused. Different filters only cause a warning: two halves of a trace make a
// whole.
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
  // Adds a file: `path` as given, `files` as reported (of a profile, the traces in it), `grouped`
  // if it has groups. Throws UsageError if its groups differ from those of earlier files.
  void add(const std::string& path, std::span<const ReportFile> files, bool grouped);
  // Lines that say which files have which filters, if they differ, and for which files the grouping
  // is unknown. Names in them are untrusted; their number and length are bounded.
  std::vector<std::string> remarks() const;

 private:
  struct Grouping {
    std::string path;
    bool grouped = false;
    std::optional<std::string> by;  // Empty: unknown.
    bool is_compatible(const Grouping& other) const;
    std::string text() const;
  };
  std::string unlike_filters() const;

  std::vector<Grouping> groupings_;                        // One of each distinguishable grouping.
  std::map<std::string, std::vector<std::string>> paths_;  // Keyed by filters.
  std::vector<std::string> known_, unknown_;               // Grouped files; grouping (un)known.
};

}  // namespace luatrace::analyze
