// SPDX-License-Identifier: MIT
#include "analyzer/report/signature_check.h"

#include <algorithm>

#include "base/escape.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kMaxNames = 3;    // Per list; the rest are counted.
constexpr size_t kMaxBytes = 200;  // Of a text of a saved profile, which may be of any length.

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

bool SignatureCheck::Grouping::is_compatible(const Grouping& other) const {
  return grouped == other.grouped && (!by || !other.by || *by == *other.by);
}

std::string SignatureCheck::Grouping::text() const {
  return path + " is " +
         (!grouped ? "not grouped"
          : !by    ? "grouped"
                   : "grouped by '" + cut_bytes(*by, kMaxBytes) + '\'');
}

void SignatureCheck::add(const std::string& path, std::span<const ReportFile> files, bool grouped) {
  for (const ReportFile& file : files) {
    Grouping now{path, grouped, {}};
    if (file.signature) now = {path, !file.signature->groups.empty(), file.signature->groups};
    for (const Grouping& other : groupings_)
      if (!now.is_compatible(other))
        throw UsageError(now.text() + ", " + other.text() +
                         ": such sums cannot be added up or compared; make both with the same "
                         "--group-by");
    auto same = [&](const Grouping& other) { return other.by == now.by; };
    if (std::none_of(groupings_.begin(), groupings_.end(), same)) groupings_.push_back(now);
    if (grouped) add_once(now.by ? known_ : unknown_, path);
    if (file.signature) add_once(paths_[file.signature->filters], path);
  }
}

std::vector<std::string> SignatureCheck::remarks() const {
  std::vector<std::string> out;
  if (paths_.size() > 1) out.push_back(unlike_filters());
  if (!unknown_.empty() && known_.size() + unknown_.size() > 1)
    out.push_back("unknown --group-by of " + list_text(unknown_, kMaxNames) +
                  " (profiles of older versions do not contain it): unless it was the same for "
                  "all files, sums and differences are meaningless");
  return out;
}

std::string SignatureCheck::unlike_filters() const {
  std::string all;
  size_t listed = 0;
  for (const auto& [filters, paths] : paths_) {
    if (listed++ == kMaxNames) break;
    all += (all.empty() ? "" : "; ") + list_text(paths, kMaxNames) +
           (filters.empty() ? ": without filters" : ": with " + cut_bytes(filters, kMaxBytes));
  }
  if (paths_.size() > kMaxNames)
    all += "; and " + std::to_string(paths_.size() - kMaxNames) + " more sets of filters";
  return "files with different filters are added up or compared: " + all;
}

}  // namespace luatrace::analyze
