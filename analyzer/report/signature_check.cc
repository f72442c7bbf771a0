// SPDX-License-Identifier: MIT
#include "analyzer/report/signature_check.h"

#include <algorithm>

#include "base/escape.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kNamed = 3;  // Names per list; the rest are counted.

// Shortens text of a saved profile, which may be of any length.
std::string brief(const std::string& text) {
  constexpr size_t kMost = 200;
  if (text.size() <= kMost) return text;
  size_t end = 0;
  while (end < kMost) end += std::max<size_t>(utf8_length(text, end), 1);
  return text.substr(0, end) + "...";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamed; i++) out += (i ? ", " : "") + names[i];
  return names.size() > kNamed ? out + " and " + std::to_string(names.size() - kNamed) + " more"
                               : out;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

bool SignatureCheck::Grouping::fits(const Grouping& other) const {
  return grouped == other.grouped && (!by || !other.by || *by == *other.by);
}

std::string SignatureCheck::Grouping::text() const {
  return path + " is " +
         (!grouped ? "not grouped"
          : !by    ? "grouped"
                   : "grouped by '" + brief(*by) + '\'');
}

void SignatureCheck::add(const std::string& path, std::span<const ReportFile> files, bool grouped) {
  for (const ReportFile& file : files) {
    Grouping now{path, grouped, {}};
    if (file.signature) now = {path, !file.signature->groups.empty(), file.signature->groups};
    for (const Grouping& other : groupings_)
      if (!now.fits(other))
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
    out.push_back("it is not known by what " + list_of(unknown_) +
                  (unknown_.size() == 1 ? " was" : " were") +
                  " grouped (a profile of an older version does not say it): if it was not the "
                  "same for all, sums and differences mean nothing");
  return out;
}

std::string SignatureCheck::unlike_filters() const {
  std::string all;
  size_t said = 0;
  for (const auto& [filters, paths] : paths_) {
    if (said++ == kNamed) break;
    all += (all.empty() ? "" : "; ") + list_of(paths) +
           (filters.empty() ? ": without filters" : ": with " + brief(filters));
  }
  if (paths_.size() > kNamed)
    all += "; and " + std::to_string(paths_.size() - kNamed) + " more sets of filters";
  return "what is added up or compared was not made with the same filters: " + all;
}

}  // namespace luatrace::analyze
