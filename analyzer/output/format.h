// SPDX-License-Identifier: MIT
// Formatting of numbers and names in reports.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// "12.3 ms", "4.56 s": three significant digits.
std::string format_time(uint64_t ns);
// "p50 1.2 ms, p90 ..., p99 ..., max ..." of the times `at` which that many per cent are shorter.
std::string percentiles_text(const std::function<uint64_t(int)>& at);
// "wall 3 ms = running 1 ms + waits ... + others ... + unattributed ...": of a request, or of many.
template <class Sums>
std::string ledger_text(const Sums& s) {
  return "wall " + format_time(s.wall_ns) + " = running " + format_time(s.running_ns) +
         " + waits " + format_time(s.wait_ns) + " + others " + format_time(s.others_ns) +
         " + unattributed " + format_time(s.unattributed_ns);
}
// "12,345,678"
std::string format_count(uint64_t n);
// "1 thread", "1,234 threads"
std::string counted(uint64_t n, const std::string& one);
// The width in terminal columns of `text`, which is valid UTF-8.
size_t text_width(std::string_view text);
// Cuts `text` to up to `width` columns: a longer text becomes its beginning, "..." and its end.
std::string cut_text(const std::string& text, size_t width);
// The same with part/parts of what is kept from the beginning of `text`, the rest from its end.
std::string cut_share(const std::string& text, size_t width, int part, int parts);
// The same with the bytes from `at` on, and a bit of the beginning.
std::string cut_around(const std::string& text, size_t width, size_t at);
// cut_text() for "  work  (app/co.lua:3)", of which the name is cut last.
std::string cut_name(const std::string& text, size_t width);
// For "name 12.3 ms": cuts the name, never the number and its unit.
std::string cut_amount(const std::string& text, size_t width);
// For items that are separated by ", ": leaves out the last ones.
std::string cut_list(const std::string& text, size_t width);

// Tells names apart that are equal.
class DistinctNames {
 public:
  // Returns `name`, or if it was returned before, "name #2", "name #3" ...
  std::string add(const std::string& name);

 private:
  std::map<std::string, size_t> numbers_;  // The last one used for a name.
};
// Wraps `text` to lines of up to `width` columns (0: one line), broken at blanks; a word that is
// longer than a line is broken, too. The first line comes after `at` other columns; the others are
// indented by `indent`.
std::string wrapped(const std::string& text, size_t width, size_t at, size_t indent);
// Keeps spreadsheets from taking the text for a formula: a text that begins like one (=, +, -, @,
// tab, CR) is prefixed with an apostrophe.
std::string no_formula(const std::string& text);
// The same as a cell of CSV, quoted if necessary (RFC 4180).
std::string csv_text(const std::string& text);
// A number with `digits` decimal places.
std::string decimal(double value, int digits);
// "2026-11-21 10:00:00.250000" in UTC; takes nanoseconds since 1970.
std::string format_date(uint64_t real_ns);
// "1.234567 s" after the start, with the date if `start_real_ns` is not 0.
std::string format_moment(uint64_t ns, uint64_t start_real_ns);
// The trust line: "123 events, none lost, ...", followed by the anomalies.
std::string trust_line(const Report& report);

}  // namespace luatrace::analyze
