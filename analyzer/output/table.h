// SPDX-License-Identifier: MIT
// A view is one or more tables; this is how each becomes text for a terminal, CSV or JSON.
// Invariant: cells hold raw values and untrusted strings; escaping happens here and only here.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "analyzer/output/rows.h"

namespace luatrace::analyze {

struct Cell {
  enum Kind { kEmpty, kText, kTime, kCount, kPercent, kDelta, kDeltaCount, kDeltaPercent, kReal };
  Kind kind = kEmpty;
  double value = 0;    // ns, count, per cent
  uint64_t exact = 0;  // kTime, kCount: the same as an integer.
  std::string text;

  static Cell of_text(std::string text) { return {kText, 0, 0, std::move(text)}; }
  static Cell of_time(uint64_t ns) { return {kTime, static_cast<double>(ns), ns, {}}; }
  static Cell of_count(uint64_t n) { return {kCount, static_cast<double>(n), n, {}}; }
  static Cell of_percent(double value) { return {kPercent, value, 0, {}}; }
  static Cell of_delta(double ns) { return {kDelta, ns, 0, {}}; }  // A signed time.
  static Cell of_change(double percent) { return {kDeltaPercent, percent, 0, {}}; }
};

struct Column {
  enum Use { kBoth, kTextOnly, kDataOnly };  // Text: for people; data: CSV and JSON.
  std::string key;                           // Of CSV and JSON: "self_ns".
  std::string title;                         // Of text.
  bool left = false;                         // Aligned left.
  Use use = kBoth;
  bool bar = false;   // Of characters that are all the same: made shorter in proportion, not cut.
  int spare = 0;      // 0..3; if there is no room for all the greatest go first.
  size_t least = 12;  // Of a text: it is not cut to fewer characters.
  std::string of{};  // What it is about together with its neighbours: before the first one's title.
};

struct Table {
  std::string name;     // Member of the JSON object: "report".
  std::string heading;  // Line above it in text; may be empty. Untrusted.
  std::vector<Column> columns;
  Rows rows;
  std::vector<std::string> notes;  // Lines below it in text.
  std::vector<int> colors;  // By row: 0 none, else the number of an ANSI colour. May be short.
  bool drawn = false;       // In text `drawing` stands for the rows.
  std::string drawing;      // Lines that are safe to print.
  bool wraps = false;       // In text the last column goes on below itself, rather than be cut.
};

struct TextStyle {
  bool color = false;
  size_t width =
      0;  // Columns; 0: any. StringPool are cut to it, numbers never; their columns may go.
};

// The columns of a table, null in place of those that are for `use` only.
std::vector<const Column*> columns_without(const Table& table, Column::Use use);

// Tables with the same name put together, for CSV and JSON; they share their rows.
std::vector<Table> joined(const std::vector<Table>& tables);

void write_text(std::ostream& out, const Table& table, const TextStyle& style);
// With a line of column keys. Several tables become one, with a column `view` in front that says
// which one a row is of, and all columns of all.
void write_csv(std::ostream& out, const std::vector<Table>& tables);
// An array of objects.
void write_json(std::ostream& out, const Table& table, const std::string& indent);
std::string cell_text(const Cell& cell);

}  // namespace luatrace::analyze
