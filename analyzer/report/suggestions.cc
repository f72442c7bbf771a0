// SPDX-License-Identifier: MIT
// The distance is 0 if only case differs; otherwise the difference in length if one name contains
// the other, or the number of letters to replace, insert, delete or swap with a neighbour. Names
// are untrusted, so only the first characters of each are compared.
#include "analyzer/report/suggestions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>

namespace luatrace::analyze {
namespace {

constexpr size_t kMostLetters = 64, kShortest = 3, kFar = SIZE_MAX;
constexpr size_t kMuch = 2 * kMostLetters;  // More than any distance, without overflow.
constexpr size_t kMuchFurther = 2;          // Beyond the closest one: not shown.

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

// The letters in `a` but not `b`, or vice versa, whichever is more: each needs at least one edit.
int letters_without(const std::string& a, const std::string& b) {
  uint64_t in_a = 0, in_b = 0;
  for (char c : a) in_a |= uint64_t{1} << (static_cast<unsigned char>(c) & 63);
  for (char c : b) in_b |= uint64_t{1} << (static_cast<unsigned char>(c) & 63);
  return std::max(std::popcount(in_a & ~in_b), std::popcount(in_b & ~in_a));
}

// Whether `most` edits might turn `a` into `b`. Cheap, as it runs for every name.
bool may_be_close(const std::string& a, const std::string& b, size_t most) {
  if (a.size() > b.size() + most || b.size() > a.size() + most) return false;
  return static_cast<size_t>(letters_without(a, b)) <= most;
}

// Optimal string alignment, row by row: fills only the cells that `most` edits can reach, and stops
// when neither of the last two rows (a swap skips one) has any. kFar if the distance exceeds
// `most`. Adds the number of cells filled to `cells`.
size_t edits(const std::string& a, const std::string& b, size_t most, uint64_t& cells) {
  if (!may_be_close(a, b, most)) return kFar;
  std::array<size_t, kMostLetters + 2> rows[3];
  auto *before = &rows[0], *above = &rows[1], *row = &rows[2];
  before->fill(kMuch);
  for (size_t j = 0; j < above->size(); j++) (*above)[j] = j;
  for (size_t i = 1, least_above = 0; i <= a.size(); i++) {
    const size_t from = i > most + 1 ? i - most : 1, to = std::min(b.size(), i + most);
    (*row)[from - 1] = from == 1 ? i : kMuch;
    size_t least = (*row)[from - 1];
    for (size_t j = from; j <= to; j++) {
      const size_t changed = (*above)[j - 1] + (a[i - 1] != b[j - 1]);
      size_t cell = std::min({(*above)[j] + 1, (*row)[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cell = std::min(cell, (*before)[j - 2] + 1);
      least = std::min(least, (*row)[j] = cell);
    }
    cells += to + 1 - std::min(from, to + 1);
    (*row)[to + 1] = kMuch;  // The next row reads one cell further.
    if (std::min(least, least_above) > most) return kFar;
    least_above = least;
    std::swap(before, above);
    std::swap(above, row);
  }
  const size_t d = (*above)[b.size()];
  return d <= most ? d : kFar;
}

// The distance if it is up to `most`, otherwise kFar.
size_t distance(const std::string& wanted, const std::string& name, size_t most, uint64_t& cells) {
  if (wanted == name) return 0;
  const size_t shorter = std::min(wanted.size(), name.size());
  const size_t by_edits =
      edits(wanted, name, std::min(most, std::max<size_t>(1, wanted.size() / 3)), cells);
  if (shorter < kShortest) return by_edits;
  const bool within = name.find(wanted) != name.npos || wanted.find(name) != wanted.npos;
  const size_t more = std::max(wanted.size(), name.size()) - shorter;
  return within ? std::min(by_edits, 1 + more / 4) : by_edits;
}

}  // namespace

Suggestions::Suggestions(const std::string& wanted)
    : wanted_(lower(plain_part(wanted)).substr(0, kMostLetters)) {}

void Suggestions::offer(const std::string& name) {
  if (wanted_.empty() || name.empty()) return;
  const size_t d = distance(wanted_, lower(name.substr(0, kMostLetters)), most_, cells_);
  if (d > most_) return;
  Found found{d, name};
  const auto at = std::lower_bound(found_.begin(), found_.end(), found);
  if (at != found_.end() && at->name == name) return;
  found_.insert(at, std::move(found));
  if (found_.size() > kMost) found_.pop_back();
  most_ = found_[0].distance + kMuchFurther;
  if (found_.size() == kMost) most_ = std::min(most_, found_.back().distance);
}

void Suggestions::offer(const FunctionName& f) {
  if (f.kind == FunctionKind::kRoot || f.kind == FunctionKind::kGap ||
      f.kind == FunctionKind::kPruned)
    return;
  const std::string place = display_place(f);
  offer(display_name(f));
  offer(place);
  if (const size_t slash = place.rfind('/'); slash != place.npos) offer(place.substr(slash + 1));
}

std::string Suggestions::question() const {
  size_t n = 0;
  while (n < found_.size() && found_[n].distance <= found_[0].distance + kMuchFurther) n++;
  std::string out;
  for (size_t i = 0; i < n; i++) {
    out += i == 0 ? "; did you mean " : i + 1 == n ? " or " : ", ";
    out += '\'' + found_[i].name + '\'';
  }
  return out.empty() ? out : out + '?';
}

std::string did_you_mean(const std::string& wanted, const std::vector<FunctionName>& functions) {
  Suggestions names(wanted);
  for (const FunctionName& f : functions) names.offer(f);
  return names.question();
}

}  // namespace luatrace::analyze
