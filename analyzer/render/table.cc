// SPDX-License-Identifier: MIT
#include "analyzer/render/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "analyzer/decode/escape.h"
#include "analyzer/render/format.h"
#include "analyzer/render/json.h"

namespace luatrace {
namespace {

// Characters, not bytes; `text` is valid UTF-8.
size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string cut(const std::string& text, size_t most) {
  if (characters(text) <= most) return text;
  size_t n = 0, at = 0;
  for (; at < text.size(); at++) {
    if ((text[at] & 0xc0) != 0x80 && ++n > most - 3) break;
  }
  return text.substr(0, at) + "...";
}

void pad(std::ostream& out, size_t n) {
  for (; n > 0; n--) out << ' ';
}

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

std::vector<const Column*> used(const Table& table, Column::Use without) {
  std::vector<const Column*> list;
  for (const Column& c : table.columns) list.push_back(c.use == without ? nullptr : &c);
  return list;
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
      return with_sign(cell.value, format_time(static_cast<uint64_t>(std::fabs(cell.value))));
    case Cell::kDeltaCount:
      return with_sign(cell.value, format_count(static_cast<uint64_t>(std::fabs(cell.value))));
    case Cell::kDeltaPercent:
      snprintf(text, sizeof text, "%+.1f", cell.value);
      return text;
    case Cell::kReal:
      return plain_number(cell.value);
    default:
      return "-";
  }
}

void write_text(std::ostream& out, const Table& table, const TextStyle& style) {
  auto code = [&](int number) {
    if (style.color && number) out << "\033[" << number << 'm';
  };
  if (!table.heading.empty()) out << printable(table.heading) << '\n';
  if (table.drawn) {
    out << table.drawing;
  } else {
    auto columns = used(table, Column::kDataOnly);
    std::vector<std::vector<std::string>> cells;
    std::vector<size_t> widths;
    size_t last = 0;
    for (size_t c = 0; c < columns.size(); c++) {
      if (columns[c]) last = c;
      widths.push_back(columns[c] ? characters(columns[c]->title) : 0);
    }
    for (const auto& row : table.rows) {
      cells.emplace_back();
      for (size_t c = 0; c < columns.size(); c++) {
        cells.back().push_back(columns[c] ? cell_text(row[c]) : "");
        widths[c] = std::max(widths[c], characters(cells.back()[c]));
      }
    }
    auto line = [&](auto text) {
      size_t at = 0;
      for (size_t c = 0; c < columns.size(); c++) {
        if (!columns[c]) continue;
        std::string value = text(c);
        if (c == last && style.width > at + 12 && columns[c]->left)
          value = cut(value, style.width - at);
        size_t blank = widths[c] - std::min(widths[c], characters(value));
        if (!columns[c]->left) pad(out, blank);
        out << value;
        if (c == last) continue;
        if (columns[c]->left) pad(out, blank);
        out << "  ";
        at += widths[c] + 2;
      }
    };
    code(1);
    line([&](size_t c) { return columns[c]->title; });
    code(table.columns.empty() ? 0 : 0);
    if (style.color) out << "\033[0m";
    out << '\n';
    for (size_t r = 0; r < cells.size(); r++) {
      int color = r < table.colors.size() ? table.colors[r] : 0;
      code(color);
      line([&](size_t c) { return cells[r][c]; });
      if (color && style.color) out << "\033[0m";
      out << '\n';
    }
  }
  for (const auto& note : table.notes) out << "  (" << printable(note) << ")\n";
}

void write_csv(std::ostream& out, const Table& table) {
  auto columns = used(table, Column::kTextOnly);
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
  auto columns = used(table, Column::kTextOnly);
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
