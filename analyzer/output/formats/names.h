// SPDX-License-Identifier: MIT
// Names of functions in exports. All strings are printable (escape.h): valid UTF-8 without control
// characters; each format escapes further characters itself.
#pragma once

#include <string>
#include <vector>

#include "analyzer/collect/call_writer.h"
#include "analyzer/output/formats/formats.h"

namespace luatrace::analyze {

// "coroutine 7", or "state 1, coroutine 7" if `of_state`.
std::string track_name(const Track& track, bool of_state);

// Name of a slice that is not a call: "[coroutine 7]", "[yielded]", "[filtered]", "[unknown]".
std::string marker_name(Slice::Kind kind, uint32_t coroutine);

FrameName frame_name(const FunctionName& function, const ExportOptions& options);
// Names of all functions of a report, by index.
std::vector<FrameName> frame_names(const Report& report, const ExportOptions& options);

// A cell of a tab-separated table: tabs become blanks, no quotes, no formula. For commas see
// csv_text() in output/format.h.
std::string tsv_cell(const std::string& text);

// "12.345": exact microseconds; takes nanoseconds.
std::string microseconds(uint64_t ns);

}  // namespace luatrace::analyze
