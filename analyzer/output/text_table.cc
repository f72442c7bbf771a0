// SPDX-License-Identifier: MIT
// A table as text. Columns are as wide as their contents; if that exceeds the terminal, the widest
// of the left-aligned columns (names, locations) are narrowed, and finally whole columns are left
// out, which a line below the table says, but neither the names nor the column of the order.
// Without a terminal only the last left-aligned column may have any width: a chunk name can be a
// whole source text and must not push others out of sight.
#include <algorithm>
#include <cstddef>
#include <ostream>
#include <utility>

#include "analyzer/output/cut_names.h"
#include "analyzer/output/format.h"
#include "analyzer/output/table.h"
#include "analyzer/symbols/function_name.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kNarrowestBar = 5, kWidest = 60, kBetween = 2, kLongestMain = 40;

// A column that is shown.
struct Shown {
  const Column* column;
  size_t cell;  // Index in a row.
  std::string title;
  size_t width = 0;
  size_t longest = 0, deepest = 0;  // Greatest text width and indentation.
  size_t main = 0;  // Greatest width of a main chunk's name, without folders, which stays whole.
  size_t first_item = 0;     // Of a list or an amount: greatest width of what cannot be cut.
  CutNames names{};          // Of a column of names.
  bool indent_less = false;  // Halve the indentation.

  bool left() const { return column->left; }
  size_t narrowest() const {
    return column->bar ? kNarrowestBar : std::max({column->min_width, main, first_item});
  }
  bool is_sorted() const { return column->title.ends_with("▼") || column->title.ends_with("▲"); }
  std::string shown(std::string text) const;
  void measure(const std::string& text);
};

size_t indent(const std::string& text) {
  return std::min(text.find_first_not_of(' '), text.size());
}

void Shown::measure(const std::string& text) {
  longest = std::max(longest, text_width(text));
  deepest = std::max(deepest, indent(text));
  static const std::string kMain = std::string("  (") + kMainChunk + ')';
  if (!text.ends_with(kMain)) return;
  const size_t folders = text.rfind('/') == text.npos ? indent(text) : text.rfind('/') + 1;
  main = std::max(main, indent(text) + text_width(text.substr(folders)) - kMain.size());
}

// A list keeps its first item, an amount its number and some of its name.
size_t uncut_width(Column::Cut cut, const std::string& text) {
  constexpr size_t kDots = 5, kNumber = 12, kLongest = 40;
  const size_t comma = text.find(", ");
  if (cut == Column::kList)
    return std::min(kLongest, comma == text.npos ? text_width(text) : comma + kDots);
  return cut == Column::kAmount ? std::min(text_width(text), kNumber + kDots) : 0;
}

// A line's text in this column before it is cut.
std::string Shown::shown(std::string text) const {
  if (indent_less) text.erase(0, indent(text) / 2);
  return text;
}

class TextTable {
 public:
  TextTable(const Table& table, const TextStyle& style);
  void write(std::ostream& out) const;

 private:
  void measure();
  bool fit(size_t width);
  bool leave_out_one();
  bool leave_out_last(int spare);
  void leave_out(size_t column);
  bool is_alone(size_t column) const;
  void limit_main();
  void tell_names_apart();
  std::string title(size_t column) const;
  void squeeze(size_t width);
  std::string fitted(std::string text, const Shown& column) const;
  void narrow_inner();
  void print(std::ostream& out, const std::vector<std::string>& line, int color) const;

  const Table& table_;
  const TextStyle& style_;
  std::vector<Shown> columns_;
  size_t subject_ = 0;                 // The column that names the subject of a row.
  std::vector<std::string> left_out_;  // Titles of columns that do not fit.
  bool has_hint_ = false;              // The name of a row comes from a call.
};

TextTable::TextTable(const Table& table, const TextStyle& style) : table_(table), style_(style) {
  for (size_t cell = 0; cell < table.columns.size(); cell++) {
    const Column* c = &table.columns[cell];
    if (c->use == Column::kDataOnly) continue;
    const bool first =
        std::none_of(columns_.begin(), columns_.end(), [](const Shown& s) { return s.left(); });
    if (c->key == "function" || c->key == "body" || (c->left && first)) subject_ = columns_.size();
    columns_.push_back({c, cell, ""});
  }
  measure();
  if (table.wraps) return;
  style.width ? squeeze(style.width) : narrow_inner();
  // If a tree is too deep for its column, halve the indentation of all levels.
  constexpr size_t kNameWidth = 10;
  for (Shown& c : columns_) c.indent_less = c.longest > c.width && c.deepest + kNameWidth > c.width;
  tell_names_apart();
}

// Reads all rows once more if names are cut.
void TextTable::tell_names_apart() {
  std::vector<Shown*> cut;
  for (Shown& c : columns_)
    if (c.left() && !c.column->bar && c.column->cut == Column::kName && c.longest > c.width)
      cut.push_back(&c);
  if (cut.empty()) return;
  table_.rows.each([&](const Row& row) {
    for (Shown* c : cut) c->names.add(c->shown(cell_text(row[c->cell])), c->width);
  });
  for (Shown* c : cut) c->names.settle();
}

// Names of main chunks may take all but the column by which the table is sorted, or else the one of
// numbers that leave_out_one() leaves.
void TextTable::limit_main() {
  const Shown* kept = nullptr;
  for (const Shown& c : columns_) {
    if (c.left() || (kept && kept->is_sorted())) continue;
    if (!kept || c.is_sorted() || c.column->spare < kept->column->spare) kept = &c;
  }
  const size_t other = kept ? kept->longest + kBetween : 0;
  const size_t left = style_.width - std::min(style_.width, other);
  for (Shown& c : columns_) c.main = std::min({c.main, kLongestMain, left});
}

// Reads all rows once, without keeping their text.
void TextTable::measure() {
  for (size_t c = 0; c < columns_.size(); c++) columns_[c].measure(columns_[c].title = title(c));
  table_.rows.each([this](const Row& row) {
    for (Shown& c : columns_) {
      const std::string text = cell_text(row[c.cell]);
      c.measure(text);
      c.first_item = std::max(c.first_item, uncut_width(c.column->cut, text));
    }
    for (size_t c = 0; c < row.size(); c++)
      has_hint_ |= table_.columns[c].key == "hint" && row[c].exact;
  });
  for (Shown& c : columns_) c.width = c.longest;
  limit_main();
}

// The first of several columns with a common heading has it before its title.
std::string TextTable::title(size_t c) const {
  const Column& column = *columns_[c].column;
  const bool repeats = column.of.empty() || (c && columns_[c - 1].column->of == column.of);
  return repeats ? column.title : column.of + ' ' + column.title;
}

// Narrows the widest text column repeatedly. False if all are at their minimum, yet too wide.
bool TextTable::fit(size_t width) {
  while (true) {
    size_t all = 0;
    Shown* widest = nullptr;
    for (Shown& c : columns_) {
      all += c.width + (&c == &columns_[0] ? 0 : kBetween);
      if (!c.left() || c.width <= c.narrowest()) continue;
      if (!widest || c.width >= widest->width) widest = &c;
    }
    if (all <= width) return true;
    if (!widest) return false;
    size_t next = widest->narrowest();  // Down to the second widest.
    for (const Shown& c : columns_)
      if (c.left() && &c != widest && c.width > c.narrowest())
        next = std::max(next, std::min(c.width, widest->width - 1));
    widest->width -= std::min(all - width, widest->width - next);
  }
}

// Leaves out the last column, except the subject, that of the order, and one of numbers; spare ones
// go first.
bool TextTable::leave_out_one() {
  for (int spare = 3; spare >= 0; spare--)
    if (leave_out_last(spare)) return true;
  return false;
}

bool TextTable::leave_out_last(int spare) {
  const auto texts =
      std::count_if(columns_.begin(), columns_.end(), [](const Shown& s) { return s.left(); });
  const size_t numbers = columns_.size() - static_cast<size_t>(texts);
  for (size_t c = columns_.size(); c-- > 0;) {
    if (columns_[c].column->spare != spare) continue;
    if (c == subject_ || columns_[c].is_sorted() || (!columns_[c].left() && numbers == 1)) continue;
    leave_out(c);
    if (c && numbers > 2 && is_alone(c - 1)) leave_out(c - 1);
    return true;
  }
  return false;
}

// Whether column `c` is the only one left under its heading, where it says little by itself.
bool TextTable::is_alone(size_t c) const {
  const Column& column = *columns_[c].column;
  auto same = [&](const Shown& other) { return other.column->of == column.of; };
  return !column.of.empty() && column.spare &&
         std::count_if(columns_.begin(), columns_.end(), same) == 1;
}

void TextTable::leave_out(size_t c) {
  const Column& column = *columns_[c].column;
  const std::string full = (column.of.empty() ? "" : column.of + ' ') + column.title;
  left_out_.insert(left_out_.begin(), full.empty() ? column.key : full);
  columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(c));
  if (c < subject_) subject_--;
  if (c == columns_.size()) return;
  Shown& next = columns_[c];
  next.measure(next.title = title(c));
  next.width = std::max(next.width, text_width(next.title));
}

void TextTable::squeeze(size_t width) {
  auto natural = columns_;
  while (!fit(width)) {
    columns_ = natural;
    if (!leave_out_one()) return void(fit(width));
    natural = columns_;
  }
}

void TextTable::narrow_inner() {
  for (Shown& c : columns_)
    if (&c != &columns_.back() && c.left()) c.width = std::min(c.width, kWidest);
}

// Scales a bar in proportion to the longest.
std::string shorter(const std::string& text, const Shown& c) {
  const size_t all = text_width(text);
  if (all == 0 || c.width >= c.longest) return text;
  const size_t wanted = std::max<size_t>(1, (all * c.width + c.longest / 2) / c.longest);
  return text.substr(0, text.size() / all * wanted);
}

std::string TextTable::fitted(std::string text, const Shown& c) const {
  if (c.column->bar) return shorter(text, c);
  text = c.shown(std::move(text));
  if (!c.left() || text_width(text) <= c.width) return text;
  if (c.column->cut == Column::kAmount) return cut_amount(text, c.width);
  return c.column->cut == Column::kList ? cut_list(text, c.width) : c.names.of(text, c.width);
}

void TextTable::print(std::ostream& out, const std::vector<std::string>& line, int color) const {
  std::string all;
  size_t at = 0;
  for (size_t i = 0; i < line.size(); at += columns_[i++].width + kBetween) {
    const Shown& c = columns_[i];
    const bool wraps = table_.wraps && i + 1 == line.size();
    const std::string text = wraps ? wrapped(line[i], style_.width, at, at) : fitted(line[i], c);
    const std::string blank(c.width - std::min(c.width, text_width(text)), ' ');
    all += c.left() ? text + blank : blank + text;
    all += std::string(kBetween, ' ');
  }
  all.resize(all.find_last_not_of(' ') + 1);
  const bool colored = style_.color && color;
  if (colored) out << "\033[" << color << 'm';
  out << all << (colored ? "\033[0m" : "") << '\n';
}

void TextTable::write(std::ostream& out) const {
  constexpr int kBold = 1;
  std::vector<std::string> line;
  for (const Shown& c : columns_) line.push_back(c.title);
  if (std::any_of(line.begin(), line.end(), [](const std::string& t) { return !t.empty(); }))
    print(out, line, kBold);
  size_t i = 0;
  table_.rows.each([&](const Row& row) {
    line.clear();
    for (const Shown& c : columns_) line.push_back(cell_text(row[c.cell]));
    print(out, line, i < table_.colors.size() ? table_.colors[i] : 0);
    i++;
  });
  if (has_hint_)
    out << "  " << wrapped(std::string("(") + kHintNote + ')', style_.width, 2, 3) << '\n';
  if (left_out_.empty()) return;
  std::string note = "(no space for";
  for (const std::string& title : left_out_)
    note += (&title == &left_out_[0] ? " " : ", ") + printable(title);
  out << "  "
      << wrapped(note + (style_.has_option ? "; --width 0 shows all)" : ")"), style_.width, 2, 3)
      << '\n';
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

}  // namespace luatrace::analyze
