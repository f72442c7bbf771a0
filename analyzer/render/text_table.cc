// SPDX-License-Identifier: MIT
// A table as text. Columns are as wide as what is in them; if that is wider than the terminal, the
// widest of the left-aligned ones (names, places) give way, and at last whole columns do, which is
// said below the table. Without a terminal only the last of
// these may be of any width: a chunk's name can be its whole code, and must not push the others out
// of sight.
#include <algorithm>
#include <cstddef>
#include <ostream>

#include "analyzer/decode/escape.h"
#include "analyzer/render/format.h"
#include "analyzer/render/table.h"

namespace luatrace {
namespace {

constexpr size_t kNarrowestBar = 5, kWidest = 60, kBetween = 2;

bool is_left(const Column* column) {
  return column->left;
}

class TextTable {
 public:
  TextTable(const Table& table, const TextStyle& style);
  void write(std::ostream& out) const;

 private:
  using Line = std::vector<std::string>;
  bool fit(size_t width);
  bool leave_out_one();
  bool leave_out_last(int spare);
  void leave_out(size_t column);
  bool is_alone(size_t column) const;
  std::string title(size_t column) const;
  void squeeze(size_t width);
  size_t narrowest(size_t c) const { return columns_[c]->bar ? kNarrowestBar : columns_[c]->least; }
  std::string fitted(const std::string& text, size_t column) const;
  std::string shorter(const std::string& text, size_t column) const;
  void narrow_inner();
  void indent_less(size_t column);
  void print(std::ostream& out, const Line& line, int color) const;

  const Table& table_;
  const TextStyle& style_;
  std::vector<const Column*> columns_;
  std::vector<size_t> widths_;
  std::vector<Line> lines_;  // The first are the titles.
  size_t subject_ = 0;       // The column that says what a row is about: its name.
  Line left_out_;            // Titles of columns for which there is no room.
};

TextTable::TextTable(const Table& table, const TextStyle& style) : table_(table), style_(style) {
  const auto columns = columns_without(table, Column::kDataOnly);
  Line& titles = lines_.emplace_back();
  for (const Column* c : columns) {
    if (!c) continue;
    const bool first = std::none_of(columns_.begin(), columns_.end(), is_left);
    if (c->key == "function" || c->key == "body" || (c->left && first)) subject_ = columns_.size();
    columns_.push_back(c);
    titles.push_back(title(columns_.size() - 1));
  }
  for (const auto& row : table.rows) {
    Line& line = lines_.emplace_back();
    for (size_t c = 0; c < columns.size(); c++)
      if (columns[c]) line.push_back(cell_text(row[c]));
  }
  widths_.resize(columns_.size());
  for (const Line& line : lines_)
    for (size_t c = 0; c < line.size(); c++) widths_[c] = std::max(widths_[c], text_width(line[c]));
  if (table.wraps) return;
  style.width ? squeeze(style.width) : narrow_inner();
  for (size_t c = 0; c < columns_.size(); c++) indent_less(c);
}

// Of columns that are about one thing the first says what about.
std::string TextTable::title(size_t c) const {
  const Column& column = *columns_[c];
  const bool said = column.of.empty() || (c && columns_[c - 1]->of == column.of);
  return said ? column.title : column.of + ' ' + column.title;
}

// Of a tree that is too deep for its column all levels are indented half as much.
void TextTable::indent_less(size_t c) {
  constexpr size_t kRoom = 10;  // For a name.
  size_t deepest = 0, longest = 0;
  auto indent = [c](const Line& line) {
    return std::min(line[c].find_first_not_of(' '), line[c].size());
  };
  for (const Line& line : lines_) {
    deepest = std::max(deepest, indent(line));
    longest = std::max(longest, text_width(line[c]));
  }
  if (longest <= widths_[c] || deepest + kRoom <= widths_[c]) return;
  for (Line& line : lines_) line[c].erase(0, indent(line) / 2);
}

// Takes from the widest text column again and again, until all fit or none has anything to give.
bool TextTable::fit(size_t width) {
  while (true) {
    size_t all = 0, widest = widths_.size();
    for (size_t c = 0; c < widths_.size(); c++) {
      all += widths_[c] + (c ? kBetween : 0);
      if (!is_left(columns_[c]) || widths_[c] <= narrowest(c)) continue;
      if (widest == widths_.size() || widths_[c] >= widths_[widest]) widest = c;
    }
    if (all <= width) return true;
    if (widest == widths_.size()) return false;
    size_t next = narrowest(widest);  // No further than to the second widest.
    for (size_t c = 0; c < widths_.size(); c++)
      if (is_left(columns_[c]) && c != widest && widths_[c] > narrowest(c))
        next = std::max(next, std::min(widths_[c], widths_[widest] - 1));
    widths_[widest] -= std::min(all - width, widths_[widest] - next);
  }
}

// The last column but for what the rows are about, and one of numbers; spare ones before others.
bool TextTable::leave_out_one() {
  for (int spare = 3; spare >= 0; spare--)
    if (leave_out_last(spare)) return true;
  return false;
}

bool TextTable::leave_out_last(int spare) {
  const auto texts = std::count_if(columns_.begin(), columns_.end(), is_left);
  const size_t numbers = columns_.size() - static_cast<size_t>(texts);
  for (size_t c = columns_.size(); c-- > 0;) {
    if (columns_[c]->spare != spare) continue;
    if (c == subject_ || (!columns_[c]->left && numbers == 1)) continue;
    leave_out(c);
    if (c && numbers > 2 && is_alone(c - 1)) leave_out(c - 1);
    return true;
  }
  return false;
}

// The last one of several about the same thing, which says little without the others.
bool TextTable::is_alone(size_t c) const {
  const Column& column = *columns_[c];
  auto same = [&](const Column* other) { return other->of == column.of; };
  return !column.of.empty() && column.spare &&
         std::count_if(columns_.begin(), columns_.end(), same) == 1;
}

void TextTable::leave_out(size_t c) {
  const Column& column = *columns_[c];
  const std::string full = (column.of.empty() ? "" : column.of + ' ') + column.title;
  left_out_.insert(left_out_.begin(), full.empty() ? column.key : full);
  const auto at = static_cast<std::ptrdiff_t>(c);
  for (Line& line : lines_) line.erase(line.begin() + at);
  widths_.erase(widths_.begin() + at);
  columns_.erase(columns_.begin() + at);
  if (c < subject_) subject_--;
  if (c == columns_.size()) return;
  lines_[0][c] = title(c);
  widths_[c] = std::max(widths_[c], text_width(lines_[0][c]));
}

void TextTable::squeeze(size_t width) {
  auto natural = widths_;
  while (!fit(width)) {
    widths_ = natural;
    if (!leave_out_one()) return void(fit(width));
    natural = widths_;
  }
}

void TextTable::narrow_inner() {
  for (size_t c = 0; c + 1 < widths_.size(); c++)
    if (is_left(columns_[c])) widths_[c] = std::min(widths_[c], kWidest);
}

std::string TextTable::fitted(const std::string& text, size_t c) const {
  if (columns_[c]->bar) return shorter(text, c);
  return columns_[c]->left ? cut_name(text, widths_[c]) : text;
}

// A bar, in proportion to the longest.
std::string TextTable::shorter(const std::string& text, size_t c) const {
  size_t all = text_width(text), longest = 0;
  for (const Line& line : lines_) longest = std::max(longest, text_width(line[c]));
  if (all == 0 || widths_[c] >= longest) return text;
  const size_t wanted = std::max<size_t>(1, (all * widths_[c] + longest / 2) / longest);
  return text.substr(0, text.size() / all * wanted);
}

void TextTable::print(std::ostream& out, const Line& line, int color) const {
  std::string all;
  size_t at = 0;
  for (size_t c = 0; c < line.size(); at += widths_[c++] + kBetween) {
    const bool wraps = table_.wraps && c + 1 == line.size();
    const std::string text = wraps ? wrapped(line[c], style_.width, at, at) : fitted(line[c], c);
    const std::string blank(widths_[c] - std::min(widths_[c], text_width(text)), ' ');
    all += columns_[c]->left ? text + blank : blank + text;
    all += std::string(kBetween, ' ');
  }
  all.resize(all.find_last_not_of(' ') + 1);
  const bool colored = style_.color && color;
  if (colored) out << "\033[" << color << 'm';
  out << all << (colored ? "\033[0m" : "") << '\n';
}

void TextTable::write(std::ostream& out) const {
  constexpr int kBold = 1;
  const Line& titles = lines_[0];
  const bool untitled =
      std::all_of(titles.begin(), titles.end(), [](const std::string& t) { return t.empty(); });
  for (size_t i = untitled; i < lines_.size(); i++) {
    const bool colored = i > 0 && i <= table_.colors.size();
    print(out, lines_[i], i == 0 ? kBold : colored ? table_.colors[i - 1] : 0);
  }
  if (left_out_.empty()) return;
  std::string note = "(no room for";
  for (const std::string& title : left_out_)
    note += (&title == &left_out_[0] ? " " : ", ") + printable(title);
  out << "  " << wrapped(note + "; all: --width 0)", style_.width, 2, 3) << '\n';
}

}  // namespace

void write_text(std::ostream& out, const Table& table, const TextStyle& style) {
  if (!table.heading.empty()) out << wrapped(printable(table.heading), style.width, 0, 2) << '\n';
  if (table.drawn)
    out << table.drawing;
  else
    TextTable(table, style).write(out);
  for (const auto& note : table.notes)
    out << "  " << wrapped('(' + printable(note) + ')', style.width, 2, 3) << '\n';
}

}  // namespace luatrace
