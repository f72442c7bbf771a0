// SPDX-License-Identifier: MIT
// What functions are called in exports. All strings are printable (escape.h): valid UTF-8 without
// control characters; what else a format cannot bear it escapes itself.
#pragma once

#include <string>
#include <vector>

#include "analyzer/export/formats.h"

namespace luatrace {

struct FrameName {
  std::string label;   // In the style wanted, tells functions apart: "work (app.lua:12)".
  std::string name;    // Alone, for formats with file and line of their own: "work". Other styles
                       // than ours: the label.
  std::string unique;  // Told apart within its file: "work:12".
  std::string file;    // "app.lua", "/usr/lib/libc.so.6", "" if unknown.
  uint32_t line = 0;   // 0: main chunk or not Lua.
};

FrameName frame_name(const ReportFunction& function, const ExportOptions& options);
// Of all functions of a report, by index.
std::vector<FrameName> frame_names(const Report& report, const ExportOptions& options);

// A cell of a table with tabs: blanks for them, no quotes, no formula. (csv_text() in
// render/format.h is the same for tables with commas.)
std::string tsv_cell(const std::string& text);

// "12.345": nanoseconds in microseconds, exactly.
std::string microseconds(uint64_t ns);

}  // namespace luatrace
