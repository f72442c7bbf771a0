// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/choices.h"

#include <algorithm>

#include "cli/usage_error.h"

namespace luatrace {

bool Choices::Grouping::fits(const Grouping& other) const {
  return grouped == other.grouped && (!by || !other.by || *by == *other.by);
}

std::string Choices::Grouping::text() const {
  return path + " is " + (!grouped ? "not grouped" : !by ? "grouped" : "grouped by '" + *by + '\'');
}

void Choices::add(const std::string& path, std::span<const ReportFile> files, bool grouped) {
  for (const ReportFile& file : files) {
    Grouping now{path, grouped, {}};
    if (file.choice) now = {path, !file.choice->groups.empty(), file.choice->groups};
    for (const Grouping& other : groupings_)
      if (!now.fits(other))
        throw UsageError(now.text() + ", " + other.text() +
                         ": such sums cannot be added up or compared; make both with the same "
                         "--group-by");
    auto same = [&](const Grouping& other) { return other.by == now.by; };
    if (std::none_of(groupings_.begin(), groupings_.end(), same)) groupings_.push_back(now);
    if (!file.choice) continue;
    auto& paths = paths_[file.choice->filters];
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  }
}

std::string Choices::remark() const {
  constexpr size_t kNamed = 3;
  if (paths_.size() < 2) return "";
  std::string all;
  for (const auto& [filters, paths] : paths_) {
    all += all.empty() ? "" : "; ";
    for (size_t i = 0; i < paths.size() && i < kNamed; i++) all += (i ? ", " : "") + paths[i];
    if (paths.size() > kNamed) all += " and " + std::to_string(paths.size() - kNamed) + " more";
    all += filters.empty() ? ": without filters" : ": with " + filters;
  }
  return "what is added up or compared was not made with the same filters: " + all;
}

}  // namespace luatrace
