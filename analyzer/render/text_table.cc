// SPDX-License-Identifier: MIT
// A table as text. Columns are as wide as what is in them; if that is wider than the terminal, the
// widest of the left-aligned ones (names, places) give way. Without a terminal only the last of
// these may be of any width: a chunk's name can be its whole code, and must not push the others out
// of sight.
#include <algorithm>
#include <ostream>

#include "analyzer/decode/escape.h"
#include "analyzer/render/format.h"
#include "analyzer/render/table.h"

namespace luatrace {
namespace {

constexpr size_t kNarrowest = 12, kWidest = 60, kBetween = 2;

class TextTable {
 public:
  TextTable(const Table& table, const TextStyle& style);
  void write(std::ostream& out) const;

 private:
  using Line = std::vector<std::string>;
  void fit(size_t width);
  void narrow_inner();
  void print(std::ostream& out, const Line& line, int color) const;

  const Table& table_;
  const TextStyle& style_;
  std::vector<bool> left_;
  std::vector<size_t> widths_;
  std::vector<Line> lines_;  // The first are the titles.
};

TextTable::TextTable(const Table& table, const TextStyle& style) : table_(table), style_(style) {
  const auto columns = columns_without(table, Column::kDataOnly);
  Line& titles = lines_.emplace_back();
  for (const Column* c : columns)
    if (c) {
      titles.push_back(c->title);
      left_.push_back(c->left);
    }
  for (const auto& row : table.rows) {
    Line& line = lines_.emplace_back();
    for (size_t c = 0; c < columns.size(); c++)
      if (columns[c]) line.push_back(cell_text(row[c]));
  }
  widths_.resize(left_.size());
  for (const Line& line : lines_)
    for (size_t c = 0; c < line.size(); c++) widths_[c] = std::max(widths_[c], text_width(line[c]));
  style.width ? fit(style.width) : narrow_inner();
}

// Takes from the widest text column again and again, until all fit or none has anything to give.
void TextTable::fit(size_t width) {
  while (true) {
    size_t all = 0, widest = widths_.size();
    for (size_t c = 0; c < widths_.size(); c++) {
      all += widths_[c] + (c ? kBetween : 0);
      if (left_[c] && (widest == widths_.size() || widths_[c] >= widths_[widest])) widest = c;
    }
    if (all <= width || widest == widths_.size() || widths_[widest] <= kNarrowest) return;
    size_t next = kNarrowest;  // No further than to the second widest.
    for (size_t c = 0; c < widths_.size(); c++)
      if (left_[c] && c != widest) next = std::max(next, std::min(widths_[c], widths_[widest] - 1));
    widths_[widest] -= std::min(all - width, widths_[widest] - next);
  }
}

void TextTable::narrow_inner() {
  for (size_t c = 0; c + 1 < widths_.size(); c++)
    if (left_[c]) widths_[c] = std::min(widths_[c], kWidest);
}

void TextTable::print(std::ostream& out, const Line& line, int color) const {
  if (style_.color && color) out << "\033[" << color << 'm';
  for (size_t c = 0; c < line.size(); c++) {
    const std::string text = left_[c] ? cut_text(line[c], widths_[c]) : line[c];
    const std::string blank(widths_[c] - std::min(widths_[c], text_width(text)), ' ');
    const bool last = c + 1 == line.size();
    out << (left_[c] ? "" : blank) << text << (left_[c] && !last ? blank : "")
        << (last ? "" : std::string(kBetween, ' '));
  }
  if (style_.color && color) out << "\033[0m";
  out << '\n';
}

void TextTable::write(std::ostream& out) const {
  constexpr int kBold = 1;
  for (size_t i = 0; i < lines_.size(); i++) {
    const bool colored = i > 0 && i <= table_.colors.size();
    print(out, lines_[i], i == 0 ? kBold : colored ? table_.colors[i - 1] : 0);
  }
}

}  // namespace

void write_text(std::ostream& out, const Table& table, const TextStyle& style) {
  if (!table.heading.empty()) out << printable(table.heading) << '\n';
  if (table.drawn)
    out << table.drawing;
  else
    TextTable(table, style).write(out);
  for (const auto& note : table.notes) out << "  (" << printable(note) << ")\n";
}

}  // namespace luatrace
