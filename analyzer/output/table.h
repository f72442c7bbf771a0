// SPDX-License-Identifier: MIT
// A view is one or more tables; this file converts them to terminal text, CSV or JSON.
// Invariant: cells hold raw values and untrusted strings; escaping happens only here.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "analyzer/output/rows.h"

namespace luatrace::analyze {

struct Cell {
  // kJson: `text` is a value in JSON, for data only.
  enum Kind {
    kEmpty,
    kText,
    kTime,
    kCount,
    kId,
    kPercent,
    kDelta,
    kDeltaCount,
    kDeltaPercent,
    kJson
  };
  Kind kind = kEmpty;
  double value = 0;    // ns, count, per cent
  uint64_t exact = 0;  // kTime, kCount, kId: the value as an integer.
  std::string text;
  bool about = false;  // Not exact: text has a "~" before it.

  static Cell of_text(std::string text) { return {kText, 0, 0, std::move(text), false}; }
  static Cell of_json(std::string json) { return {kJson, 0, 0, std::move(json), false}; }
  static Cell of_time(uint64_t ns) { return {kTime, static_cast<double>(ns), ns, {}, false}; }
  static Cell of_count(uint64_t n) { return {kCount, static_cast<double>(n), n, {}, false}; }
  // A number that options take, such as that of a request.
  static Cell of_id(uint64_t n) { return {kId, static_cast<double>(n), n, {}, false}; }
  static Cell of_percent(double value) { return {kPercent, value, 0, {}, false}; }
  static Cell of_delta(double ns) { return {kDelta, ns, 0, {}, false}; }  // A signed time.
  static Cell of_change(double percent) { return {kDeltaPercent, percent, 0, {}, false}; }
};

struct Column {
  enum Use { kBoth, kTextOnly, kDataOnly };  // Text: terminal; data: CSV and JSON.
  std::string key;                           // For CSV and JSON: "self_ns".
  std::string title;                         // For text.
  bool left = false;                         // Left-aligned.
  Use use = kBoth;
  bool bar = false;       // A bar of identical characters: scaled down, not cut.
  int spare = 0;          // 0..3; if columns do not fit, those with the greatest go first.
  size_t min_width = 12;  // Of a text column.
  // How the texts of a left-aligned column are cut: as names, "name 12.3 ms" (the name), or lists
  // separated by ", " (whole items).
  enum Cut { kName, kAmount, kList } cut = kName;
  std::string of{};  // Common heading of adjacent columns, shown before the first title.
  // An earlier key, which CSV and JSON have, too, with the same value; until version 0.3.
  std::string former{};
};

struct Table {
  std::string name;      // Name of the member in JSON: "report".
  std::string former{};  // An earlier name, which JSON has, too.
  std::string heading;   // Line above the table in text; may be empty. Untrusted.
  std::vector<Column> columns;
  Rows rows;
  std::vector<std::string> notes;  // Lines below the table in text.
  std::vector<int> colors;         // By row: 0: none, else an ANSI colour number. May be short.
  bool drawn = false;              // In text, `drawing` replaces the rows.
  std::string drawing;             // Lines, already escaped.
  uint64_t left_out = 0;           // Rows, or parts of them, that a limit leaves out.
  bool wraps = false;              // In text, the last column is wrapped rather than cut.
};

// Marks the column with this title as the one by which the rows are sorted.
void mark_sorted(Table& table, const std::string& title, bool ascending);

// What the '?' after a name means, for a line below what shows one.
constexpr const char* kHintNote = "?: named after a call of it, as nothing else names it";

struct TextStyle {
  bool color = false;
  // Columns; 0: any. Text is cut to fit; a column of numbers is shown whole or left out.
  size_t width = 0;
  bool has_option = true;  // The user may choose the width: --width.
};

// Joins tables of the same name, for CSV and JSON; the result shares their rows.
std::vector<Table> joined(const std::vector<Table>& tables);

void write_text(std::ostream& out, const Table& table, const TextStyle& style);
// Writes a header line of column keys. Several tables become one that has the columns of all and a
// first column `view`, the table of the row.
void write_csv(std::ostream& out, const std::vector<Table>& tables);
// Writes an array of objects.
void write_json(std::ostream& out, const Table& table, const std::string& indent);
std::string cell_text(const Cell& cell);

}  // namespace luatrace::analyze
