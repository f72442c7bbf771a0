// SPDX-License-Identifier: MIT
// Distance: 0 if only capitals differ; then by how much longer the one is that contains the other,
// or by how many letters have to be changed, put in, left out or exchanged with their neighbour.
// Names are untrusted: only the first characters of each are looked at.
#include "analyzer/aggregate/close_names.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace luatrace {
namespace {

constexpr size_t kMostLetters = 64, kShortest = 3, kFar = SIZE_MAX;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string plain_part(const std::string& pattern) {
  std::string best, part;
  for (size_t i = 0; i <= pattern.size(); i++) {
    const bool ends = i == pattern.size() || strchr("*?[]()|^$+\\{}", pattern[i]) != nullptr;
    if (!ends) {
      part += pattern[i];
      continue;
    }
    if (part.size() > best.size()) best = part;
    part.clear();
  }
  return best;
}

// Optimal string alignment, row by row; kFar if it is more than `most`.
size_t edits(const std::string& a, const std::string& b, size_t most) {
  if (a.size() > b.size() + most || b.size() > a.size() + most) return kFar;
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) above[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above.back() <= most ? above.back() : kFar;
}

size_t distance(const std::string& wanted, const std::string& name) {
  if (wanted == name) return 0;
  const size_t shorter = std::min(wanted.size(), name.size());
  const bool within = name.find(wanted) != name.npos || wanted.find(name) != wanted.npos;
  const size_t by_edits = edits(wanted, name, std::max<size_t>(1, wanted.size() / 3));
  const size_t more = std::max(wanted.size(), name.size()) - shorter;
  return shorter >= kShortest && within ? std::min(by_edits, 1 + more / 4) : by_edits;
}

}  // namespace

CloseNames::CloseNames(const std::string& wanted)
    : wanted_(lower(plain_part(wanted)).substr(0, kMostLetters)) {}

void CloseNames::offer(const std::string& name) {
  if (wanted_.empty() || name.empty()) return;
  const size_t d = distance(wanted_, lower(name.substr(0, kMostLetters)));
  if (d == kFar) return;
  Found found{d, name};
  const auto at = std::lower_bound(found_.begin(), found_.end(), found);
  if (at != found_.end() && at->name == name) return;
  found_.insert(at, std::move(found));
  if (found_.size() > kMost) found_.pop_back();
}

void CloseNames::offer(const ReportFunction& f) {
  if (f.kind == "root" || f.kind == "gap" || f.kind == "pruned") return;
  const std::string place = display_place(f);
  offer(display_name(f));
  offer(place);
  offer(place.substr(place.rfind('/') + 1));
}

std::string CloseNames::question() const {
  constexpr size_t kMuchFurther = 2;  // Than the closest one.
  size_t n = 0;
  while (n < found_.size() && found_[n].distance <= found_[0].distance + kMuchFurther) n++;
  std::string out;
  for (size_t i = 0; i < n; i++) {
    out += i == 0 ? "; did you mean " : i + 1 == n ? " or " : ", ";
    out += '\'' + found_[i].name + '\'';
  }
  return out.empty() ? out : out + '?';
}

std::string did_you_mean(const std::string& wanted, const std::vector<ReportFunction>& functions) {
  CloseNames names(wanted);
  for (const ReportFunction& f : functions) names.offer(f);
  return names.question();
}

}  // namespace luatrace
