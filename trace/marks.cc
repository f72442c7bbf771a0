// SPDX-License-Identifier: MIT
#include "trace/marks.h"

#include <algorithm>

#include "luatrace_format.h"

namespace luatrace {
namespace {

constexpr size_t kEntry = 8;  // words that an entry takes beside its text, about

std::shared_ptr<const std::vector<uint64_t>> text_of(std::span<const uint64_t> words) {
  return std::make_shared<const std::vector<uint64_t>>(words.begin(), words.end());
}

void put(std::vector<uint64_t>& out, uint64_t tick, uint32_t sub, uint32_t arg, uint64_t first,
         const std::vector<uint64_t>& text) {
  out.push_back(lt_word(tick, lt_ext(sub, 1 + text.size(), arg), LT_EXT));
  out.push_back(first);
  out.insert(out.end(), text.begin(), text.end());
}

}  // namespace

bool Marks::Label::has_key(const Label& other) const {
  return key_words == other.key_words &&
         std::equal(text->begin(), text->begin() + key_words, other.text->begin());
}

void Marks::label(std::span<const uint64_t> r) {
  if (r.size() < 2) return;
  if (lt_ext_arg(lt_payload(r[0])) == LTL_CLEAR) return labels_.clear();
  const Label label{lt_hi(r[1]), text_of(r.subspan(2))};
  if (label.key_words > label.text->size()) return;
  std::erase_if(labels_, [&](const Label& l) { return l.has_key(label); });
  const bool has_value = label.text->size() > label.key_words;
  if (has_value && labels_.size() < kMaxLabels) labels_.push_back(label);
}

// The end is that of the innermost one of the name. One that is not there began before.
void Marks::section(std::span<const uint64_t> r) {
  if (r.size() < 2) return;
  const Text text = text_of(r.subspan(2));
  if (lt_ext_arg(lt_payload(r[0])) != LTM_END) {
    if (sections_.size() < kMaxSections) sections_.push_back(text);
    return;
  }
  const auto same = [&](const Text& t) { return *t == *text; };
  const auto last = std::find_if(sections_.rbegin(), sections_.rend(), same);
  if (last != sections_.rend()) sections_.erase(std::next(last).base());
}

size_t Marks::words() const {
  size_t n = 0;
  for (const Label& l : labels_) n += kEntry + l.text->size();
  for (const Text& t : sections_) n += kEntry + t->size();
  return n;
}

void Marks::report_labels(std::vector<uint64_t>& out, uint64_t tick, uint32_t id) const {
  for (const Label& l : labels_)
    put(out, tick, LTX_LABEL, LTL_SET, lt_pack(id, l.key_words), *l.text);
}

void Marks::report_sections(std::vector<uint64_t>& out, uint64_t tick, uint32_t id) const {
  for (const Text& t : sections_) put(out, tick, LTX_MARK, LTM_OPEN, id, *t);
}

bool Marks::operator==(const Marks& other) const {
  const auto same_label = [](const Label& a, const Label& b) {
    return a.key_words == b.key_words && *a.text == *b.text;
  };
  const auto same_text = [](const Text& a, const Text& b) { return *a == *b; };
  return std::ranges::equal(labels_, other.labels_, same_label) &&
         std::ranges::equal(sections_, other.sections_, same_text);
}

}  // namespace luatrace
