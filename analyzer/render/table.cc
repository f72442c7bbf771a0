// SPDX-License-Identifier: MIT
#include "analyzer/render/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "analyzer/decode/escape.h"
#include "analyzer/decode/whole.h"
#include "analyzer/render/format.h"
#include "analyzer/render/json.h"

namespace luatrace {
namespace {

std::string with_sign(double value, const std::string& text) {
  std::string out(1, value < 0 ? '-' : '+');
  return out += text;
}

// Whole numbers without a point, others with as many digits as needed.
std::string plain_number(double value) {
  char text[64];
  snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string data_number(const Cell& cell) {
  switch (cell.kind) {
    case Cell::kTime:
    case Cell::kCount:
      return std::to_string(cell.exact);
    case Cell::kDelta:
    case Cell::kDeltaCount: {
      char text[64];
      snprintf(text, sizeof text, "%.0f", cell.value);
      return text;
    }
    default:
      return plain_number(cell.value);
  }
}

std::string csv_field(const std::string& text) {
  std::string safe = printable(text);
  if (safe.find_first_of(",\"") == safe.npos) return safe;
  std::string out = "\"";
  for (char c : safe) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<const Column*> columns_without(const Table& table, Column::Use use) {
  std::vector<const Column*> list;
  for (const Column& c : table.columns) list.push_back(c.use == use ? nullptr : &c);
  return list;
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
    same->rows.insert(same->rows.end(), t.rows.begin(), t.rows.end());
  }
  return out;
}

std::string cell_text(const Cell& cell) {
  char text[64];
  switch (cell.kind) {
    case Cell::kText:
      return printable(cell.text);
    case Cell::kTime:
      return format_time(cell.exact);
    case Cell::kCount:
      return format_count(cell.exact);
    case Cell::kPercent:
      snprintf(text, sizeof text, "%.1f", cell.value);
      return text;
    case Cell::kDelta:
      return with_sign(cell.value, format_time(whole(std::fabs(cell.value))));
    case Cell::kDeltaCount:
      return with_sign(cell.value, format_count(whole(std::fabs(cell.value))));
    case Cell::kDeltaPercent:
      snprintf(text, sizeof text, "%+.1f", cell.value);
      return text;
    case Cell::kReal:
      return plain_number(cell.value);
    default:
      return "-";
  }
}

void write_csv(std::ostream& out, const Table& table) {
  auto columns = columns_without(table, Column::kTextOnly);
  auto line = [&](auto text) {
    bool first = true;
    for (size_t c = 0; c < columns.size(); c++) {
      if (!columns[c]) continue;
      out << (first ? "" : ",") << text(c);
      first = false;
    }
    out << '\n';
  };
  line([&](size_t c) { return columns[c]->key; });
  for (const auto& row : table.rows)
    line([&](size_t c) {
      if (row[c].kind == Cell::kEmpty) return std::string();
      return row[c].kind == Cell::kText ? csv_field(row[c].text) : data_number(row[c]);
    });
}

void write_json(std::ostream& out, const Table& table, const std::string& indent) {
  auto columns = columns_without(table, Column::kTextOnly);
  out << '[';
  for (size_t r = 0; r < table.rows.size(); r++) {
    out << (r ? "," : "") << indent << '{';
    bool first = true;
    for (size_t c = 0; c < columns.size(); c++) {
      if (!columns[c]) continue;
      const Cell& cell = table.rows[r][c];
      out << (first ? "" : ", ") << '"' << columns[c]->key << "\": ";
      first = false;
      if (cell.kind == Cell::kEmpty)
        out << "null";
      else
        out << (cell.kind == Cell::kText ? json_string(cell.text) : data_number(cell));
    }
    out << '}';
  }
  out << ']';
}

}  // namespace luatrace
