// SPDX-License-Identifier: MIT
// What functions are called in exports. All strings are printable (escape.h): valid UTF-8 without
// control characters; what else a format cannot bear it escapes itself.
#pragma once

#include <string>
#include <vector>

#include "analyzer/collect/call_writer.h"
#include "analyzer/output/formats/formats.h"

namespace luatrace::analyze {

// "coroutine 7", "state 1, coroutine 7".
std::string track_name(const Track& track, bool of_state);

// Name of a slice that is no call: "[coroutine 7]", "[yielded]", "[filtered]", "[unknown]".
std::string marker_name(Slice::Kind kind, uint32_t coroutine);

FrameName frame_name(const FunctionName& function, const ExportOptions& options);
// Of all functions of a report, by index.
std::vector<FrameName> frame_names(const Report& report, const ExportOptions& options);

// A cell of a table with tabs: blanks for them, no quotes, no formula. (csv_text() in
// output/format.h is the same for tables with commas.)
std::string tsv_cell(const std::string& text);

// "12.345": nanoseconds in microseconds, exactly.
std::string microseconds(uint64_t ns);

}  // namespace luatrace::analyze
