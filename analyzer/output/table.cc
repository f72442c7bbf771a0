// SPDX-License-Identifier: MIT
#include "analyzer/output/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "analyzer/output/format.h"
#include "base/escape.h"
#include "base/saturate.h"

namespace luatrace::analyze {
namespace {

std::string with_sign(double value, const std::string& text) {
  std::string out(1, value < 0 ? '-' : '+');
  return out += text;
}

// Up to six significant digits; integers without a decimal point.
std::string plain_number(double value) {
  char text[64];
  snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string data_number(const Cell& cell) {
  switch (cell.kind) {
    case Cell::kTime:
    case Cell::kCount:
    case Cell::kId:
      return std::to_string(cell.exact);
    case Cell::kDelta:
    case Cell::kDeltaCount:
      return decimal(cell.value, 0);
    default:
      return plain_number(cell.value);
  }
}

std::string csv_cell(const Cell& cell) {
  if (cell.kind == Cell::kEmpty) return "";
  if (cell.kind == Cell::kJson) return csv_text(cell.text);
  return cell.kind == Cell::kText ? csv_text(printable(cell.text)) : data_number(cell);
}

// A key of CSV and JSON, and the number of its column.
struct DataColumn {
  std::string key;
  size_t column;
};

// All columns for data, and after them the earlier keys of those that have one.
std::vector<DataColumn> data_columns(const Table& table) {
  std::vector<DataColumn> out;
  for (auto key : {&Column::key, &Column::former})
    for (size_t i = 0; i < table.columns.size(); i++) {
      const Column& c = table.columns[i];
      if (c.use != Column::kTextOnly && !(c.*key).empty()) out.push_back({c.*key, i});
    }
  return out;
}

}  // namespace

void mark_sorted(Table& table, const std::string& title, bool ascending) {
  for (Column& c : table.columns)
    if (c.title == title) c.title += ascending ? "▲" : "▼";
}

std::vector<Table> joined(const std::vector<Table>& tables) {
  std::vector<Table> out;
  for (const Table& t : tables) {
    auto same =
        std::find_if(out.begin(), out.end(), [&](const Table& o) { return o.name == t.name; });
    if (same == out.end()) {
      out.push_back(t);
      continue;
    }
    if (same->columns.empty()) same->columns = t.columns;
    same->rows.append(t.rows);
    same->left_out += t.left_out;
  }
  return out;
}

std::string cell_text(const Cell& cell) {
  char text[64];
  switch (cell.kind) {
    case Cell::kText:
      return printable(cell.text);
    case Cell::kTime:
      return (cell.about ? "~" : "") + format_time(cell.exact);
    case Cell::kCount:
      return format_count(cell.exact);
    case Cell::kId:
      return std::to_string(cell.exact);
    case Cell::kPercent:
      return decimal(cell.value, 1);
    case Cell::kDelta:
      return with_sign(cell.value, format_time(saturate_u64(std::fabs(cell.value))));
    case Cell::kDeltaCount:
      return with_sign(cell.value, format_count(saturate_u64(std::fabs(cell.value))));
    case Cell::kDeltaPercent:
      snprintf(text, sizeof text, "%+.1f", cell.value);
      return text;
    default:
      return "-";
  }
}

void write_csv(std::ostream& out, const std::vector<Table>& tables) {
  std::vector<std::string> keys;
  if (tables.size() > 1) keys.push_back("view");
  for (const Table& table : tables)
    for (const DataColumn& c : data_columns(table))
      if (std::find(keys.begin(), keys.end(), c.key) == keys.end()) keys.push_back(c.key);
  auto line = [&](auto text) {
    for (size_t k = 0; k < keys.size(); k++) out << (k ? "," : "") << text(keys[k], k);
    out << '\n';
  };
  line([](const std::string& key, size_t) { return key; });
  for (const Table& table : tables) {
    std::vector<size_t> indices;  // By key: the table's column; SIZE_MAX if missing.
    const auto columns = data_columns(table);
    for (const std::string& key : keys) {
      auto at = std::find_if(columns.begin(), columns.end(),
                             [&](const DataColumn& c) { return c.key == key; });
      indices.push_back(at != columns.end() ? at->column : SIZE_MAX);
    }
    table.rows.each([&](const Row& row) {
      line([&](const std::string&, size_t k) {
        if (k == 0 && tables.size() > 1) return table.name;
        return indices[k] == SIZE_MAX ? "" : csv_cell(row[indices[k]]);
      });
    });
  }
}

void write_json(std::ostream& out, const Table& table, const std::string& indent) {
  const auto columns = data_columns(table);
  out << '[';
  bool any = false;
  table.rows.each([&](const Row& row) {
    out << (any ? "," : "") << indent << '{';
    any = true;
    bool first = true;
    for (const auto& [key, column] : columns) {
      const Cell& cell = row[column];
      out << (first ? "" : ", ") << '"' << key << "\": ";
      first = false;
      if (cell.kind == Cell::kEmpty)
        out << "null";
      else if (cell.kind == Cell::kJson)
        out << cell.text;
      else
        out << (cell.kind == Cell::kText ? json_string(cell.text) : data_number(cell));
    }
    out << '}';
  });
  out << ']';
}

}  // namespace luatrace::analyze
