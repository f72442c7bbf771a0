// SPDX-License-Identifier: MIT
// How numbers and names look in reports.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/aggregate/report.h"

namespace luatrace {

// "12.3 ms", "4.56 s": three digits that matter.
std::string format_time(uint64_t ns);
// "12,345,678"
std::string format_count(uint64_t n);
// Name of a function for people, unescaped: "work", "main chunk", "string.gsub", "co.lua:3".
std::string display_name(const ReportFunction& f);
// Where it is defined, unescaped: "co.lua:3", "libfoo.so", "".
std::string display_place(const ReportFunction& f);
// Of the trust line: "123 events, none lost, ...", and the part that says what is wrong.
std::string trust_line(const Report& report);

}  // namespace luatrace
