// SPDX-License-Identifier: MIT
// How numbers and names look in reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// "12.3 ms", "4.56 s": three digits that matter.
std::string format_time(uint64_t ns);
// "12,345,678"
std::string format_count(uint64_t n);
// "1 thread", "1,234 threads"
std::string counted(uint64_t n, const std::string& one);
// Columns of a terminal; the text is valid UTF-8.
size_t text_width(std::string_view text);
// At most so many characters: of a longer text its beginning, "..." and its end.
std::string cut_text(const std::string& text, size_t most);
// The same of "  work  (app/co.lua:3)", of which the name is the last to go.
std::string cut_name(const std::string& text, size_t most);
// In lines of at most `width` characters (0: in one line), broken at blanks; a word that is longer
// than a line is broken, too. The first line stands behind `at` other characters, the others are
// indented by `indent`.
std::string wrapped(const std::string& text, size_t width, size_t at, size_t indent);
// Never a formula for a spreadsheet: what begins like one (=, +, -, @, tab, CR) gets an apostrophe
// in front.
std::string no_formula(const std::string& text);
// The same as a cell of CSV, quoted if need be (RFC 4180).
std::string csv_text(const std::string& text);
// A number with so many digits behind the point.
std::string decimal(double value, int digits);
// "2026-11-21 10:00:00.250000", of nanoseconds since 1970, UTC.
std::string format_date(uint64_t real_ns);
// "1.234567 s", with the date if `start_real_ns` is not 0.
std::string format_moment(uint64_t ns, uint64_t start_real_ns);
// Of the trust line: "123 events, none lost, ...", and the part that says what is wrong.
std::string trust_line(const Report& report);

}  // namespace luatrace::analyze
