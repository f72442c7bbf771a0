// SPDX-License-Identifier: MIT
// The distance is 0 if only case differs; otherwise the number of letters to replace, insert,
// delete or swap with a neighbour, or, if that is less and one name contains the other, 1 plus a
// quarter of the difference in length. Names are untrusted, so only the first characters of each
// are compared.
#include "analyzer/report/suggestions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>

namespace luatrace::analyze {
namespace {

constexpr size_t kMaxLetters = 64, kShortest = 3, kFar = SIZE_MAX;
constexpr size_t kUnreachable = 2 * kMaxLetters;  // More than any distance, without overflow.
constexpr size_t kMaxFurther = 2;  // Than the closest name: names beyond it are not shown.

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

// Whether `limit` edits might turn `a` into `b`. Cheap, as it runs for every name.
bool may_be_close(const std::string& a, const std::string& b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return false;
  return static_cast<size_t>(letters_without(a, b)) <= limit;
}

// Optimal string alignment, row by row: fills only the cells that `limit` edits can reach, and
// stops when neither of the last two rows (a swap skips one) has any. kFar if the distance exceeds
// `limit`. Adds the number of cells filled to `cells`.
size_t edits(const std::string& a, const std::string& b, size_t limit, uint64_t& cells) {
  if (!may_be_close(a, b, limit)) return kFar;
  std::array<size_t, kMaxLetters + 2> rows[3];
  auto *before = &rows[0], *above = &rows[1], *row = &rows[2];
  before->fill(kUnreachable);
  for (size_t j = 0; j < above->size(); j++) (*above)[j] = j;
  for (size_t i = 1, smallest_above = 0; i <= a.size(); i++) {
    const size_t from = i > limit + 1 ? i - limit : 1, to = std::min(b.size(), i + limit);
    (*row)[from - 1] = from == 1 ? i : kUnreachable;
    size_t smallest = (*row)[from - 1];
    for (size_t j = from; j <= to; j++) {
      const size_t changed = (*above)[j - 1] + (a[i - 1] != b[j - 1]);
      size_t cell = std::min({(*above)[j] + 1, (*row)[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cell = std::min(cell, (*before)[j - 2] + 1);
      smallest = std::min(smallest, (*row)[j] = cell);
    }
    cells += to + 1 - std::min(from, to + 1);
    (*row)[to + 1] = kUnreachable;  // The next row reads one cell further.
    if (std::min(smallest, smallest_above) > limit) return kFar;
    smallest_above = smallest;
    std::swap(before, above);
    std::swap(above, row);
  }
  const size_t d = (*above)[b.size()];
  return d <= limit ? d : kFar;
}

// The distance if it is up to `limit`, otherwise kFar.
size_t distance(const std::string& wanted, const std::string& name, size_t limit, uint64_t& cells) {
  if (wanted == name) return 0;
  const size_t shorter = std::min(wanted.size(), name.size());
  const size_t by_edits =
      edits(wanted, name, std::min(limit, std::max<size_t>(1, wanted.size() / 3)), cells);
  if (shorter < kShortest) return by_edits;
  const bool within = name.find(wanted) != name.npos || wanted.find(name) != wanted.npos;
  const size_t more = std::max(wanted.size(), name.size()) - shorter;
  return within ? std::min(by_edits, 1 + more / 4) : by_edits;
}

}  // namespace

Suggestions::Suggestions(const std::string& wanted)
    : wanted_(lower(plain_part(wanted)).substr(0, kMaxLetters)) {}

void Suggestions::offer(const std::string& name) {
  if (wanted_.empty() || name.empty()) return;
  const size_t d = distance(wanted_, lower(name.substr(0, kMaxLetters)), limit_, cells_);
  if (d > limit_) return;
  Found found{d, name};
  const auto at = std::lower_bound(found_.begin(), found_.end(), found);
  if (at != found_.end() && at->name == name) return;
  found_.insert(at, std::move(found));
  if (found_.size() > kMaxNames) found_.pop_back();
  limit_ = found_[0].distance + kMaxFurther;
  if (found_.size() == kMaxNames) limit_ = std::min(limit_, found_.back().distance);
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
  while (n < found_.size() && found_[n].distance <= found_[0].distance + kMaxFurther) n++;
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
