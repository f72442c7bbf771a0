// SPDX-License-Identifier: MIT
#include "analyzer/output/cut_names.h"

#include <algorithm>

#include "analyzer/output/format.h"

namespace luatrace::analyze {
namespace {

constexpr int kShares = 5;              // Ways that keep some of the beginning, and of the end.
constexpr int kDifference = kShares;    // Keeps what follows the common beginning.
constexpr int kNumbered = kShares + 1;  // The last way.

std::string unindented(const std::string& text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// How much the names have in common at their beginnings, in bytes.
size_t common_beginning(const std::vector<std::pair<std::string, size_t>>& group) {
  const std::string first = unindented(group[0].first);
  size_t common = first.size();
  for (const auto& [text, width] : group) {
    const std::string name = unindented(text);
    common = std::min(common, name.size());
    while (common > 0 && name.compare(0, common, first, 0, common) != 0) common--;
  }
  return common;
}

// Cuts in one of the first ways. `common`: how much it has in common with the others.
std::string cut_in_way(const std::string& text, size_t width, int way, size_t common) {
  return way == kDifference ? cut_around(text, width, common)
                            : cut_share(text, width, way, kShares - 1);
}

// "name  (location)" with the whole name. "" if it has no location, or there is no space for one.
std::string cut_location(const std::string& text, size_t width, int way, size_t common) {
  constexpr size_t kBrackets = 4, kShortest = 6;
  const size_t middle = text.rfind("  (");
  if (middle == text.npos || !text.ends_with(')')) return "";
  const size_t from = middle + 3, needed = text_width(text.substr(0, middle)) + kBrackets;
  if (needed + kShortest > width) return "";
  const std::string location = text.substr(from, text.size() - from - 1);
  return text.substr(0, from) +
         cut_in_way(location, width - needed, way, common - std::min(common, from)) + ')';
}

}  // namespace

void CutNames::add(const std::string& text, size_t width) {
  if (!seen_.emplace(text, width).second) return;
  const std::string cut = unindented(cut_name(text, width));
  taken_.insert(cut);
  by_cut_[cut].emplace_back(text, width);
}

// Cuts the names of a group in that way, or only their locations. False if that is not possible, or
// some still look the same.
bool CutNames::tell_apart(const std::vector<Place>& group, int way, bool locations) {
  std::map<Place, std::string> cuts;
  std::map<std::string, std::string> names;  // By what is shown of them.
  std::map<std::string, size_t> numbers;
  const size_t common = common_beginning(group);
  for (const auto& [text, width] : group) {
    const std::string name = unindented(text);
    const size_t number = numbers.emplace(name, numbers.size() + 1).first->second;
    const size_t indent = std::min(text.size() - name.size(), width - std::min<size_t>(width, 10));
    const size_t space = width - indent;
    const std::string mark = way == kNumbered ? '~' + std::to_string(number) : "";
    std::string cut = name;
    if (way == kNumbered)
      cut = cut_text(name, space - std::min(space, mark.size())) + mark;
    else if (locations)
      cut = cut_location(name, space, way, common);
    else
      cut = cut_in_way(name, space, way, common);
    if (cut.empty()) return false;
    const bool fresh = names.emplace(cut, name).first->second == name;
    if (!fresh || (cut != name && way != kNumbered && taken_.count(cut))) return false;
    cuts[{text, width}] = std::string(indent, ' ') + cut;
  }
  for (const auto& [cut, name] : names) taken_.insert(cut);
  other_.merge(cuts);
  return true;
}

void CutNames::settle() {
  for (const auto& places : by_cut_) {
    const auto& group = places.second;  // clang 14: a lambda cannot capture a structured binding
    const std::string first = unindented(group[0].first);
    if (std::all_of(group.begin(), group.end(),
                    [&](const Place& p) { return unindented(p.first) == first; }))
      continue;
    // Half of each first; then more of the end, which has the line; then more of the beginning.
    constexpr int kWays[] = {2, 1, 0, 3, 4, kDifference};
    const auto any = [&](bool locations) {
      return std::any_of(std::begin(kWays), std::end(kWays),
                         [&](int way) { return tell_apart(group, way, locations); });
    };
    if (!any(true) && !any(false)) tell_apart(group, kNumbered, false);
  }
  by_cut_.clear();
  seen_.clear();
}

std::string CutNames::of(const std::string& text, size_t width) const {
  const auto found = other_.find({text, width});
  return found != other_.end() ? found->second : cut_name(text, width);
}

}  // namespace luatrace::analyze
