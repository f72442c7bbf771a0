// SPDX-License-Identifier: MIT
#include "analyzer/output/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "analyzer/output/format.h"
#include "analyzer/output/json.h"
#include "base/escape.h"
#include "base/json.h"
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

std::string csv_cell(const Cell& cell) {
  if (cell.kind == Cell::kEmpty) return "";
  return cell.kind == Cell::kText ? csv_text(printable(cell.text)) : data_number(cell);
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
    same->rows.append(t.rows);
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
      return with_sign(cell.value, format_time(saturate_u64(std::fabs(cell.value))));
    case Cell::kDeltaCount:
      return with_sign(cell.value, format_count(saturate_u64(std::fabs(cell.value))));
    case Cell::kDeltaPercent:
      snprintf(text, sizeof text, "%+.1f", cell.value);
      return text;
    case Cell::kReal:
      return plain_number(cell.value);
    default:
      return "-";
  }
}

void write_csv(std::ostream& out, const std::vector<Table>& tables) {
  std::vector<std::string> keys;
  if (tables.size() > 1) keys.push_back("view");
  for (const Table& table : tables)
    for (const Column* c : columns_without(table, Column::kTextOnly))
      if (c && std::find(keys.begin(), keys.end(), c->key) == keys.end()) keys.push_back(c->key);
  auto line = [&](auto text) {
    for (size_t k = 0; k < keys.size(); k++) out << (k ? "," : "") << text(keys[k], k);
    out << '\n';
  };
  line([](const std::string& key, size_t) { return key; });
  for (const Table& table : tables) {
    std::vector<size_t> places;  // By key: the table's column; SIZE_MAX if missing.
    const auto columns = columns_without(table, Column::kTextOnly);
    for (const std::string& key : keys) {
      size_t c = 0;
      while (c < columns.size() && !(columns[c] && columns[c]->key == key)) c++;
      places.push_back(c < columns.size() ? c : SIZE_MAX);
    }
    table.rows.each([&](const Row& row) {
      line([&](const std::string&, size_t k) {
        if (k == 0 && tables.size() > 1) return table.name;
        return places[k] == SIZE_MAX ? "" : csv_cell(row[places[k]]);
      });
    });
  }
}

void write_json(std::ostream& out, const Table& table, const std::string& indent) {
  auto columns = columns_without(table, Column::kTextOnly);
  out << '[';
  bool any = false;
  table.rows.each([&](const Row& row) {
    out << (any ? "," : "") << indent << '{';
    any = true;
    bool first = true;
    for (size_t c = 0; c < columns.size(); c++) {
      if (!columns[c]) continue;
      const Cell& cell = row[c];
      out << (first ? "" : ", ") << '"' << columns[c]->key << "\": ";
      first = false;
      if (cell.kind == Cell::kEmpty)
        out << "null";
      else
        out << (cell.kind == Cell::kText ? json_string(cell.text) : data_number(cell));
    }
    out << '}';
  });
  out << ']';
}

}  // namespace luatrace::analyze
