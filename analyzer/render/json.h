// SPDX-License-Identifier: MIT
// --json: one object with `trace`, `functions` and `trust`, documented in docs/semantics.md.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "analyzer/aggregate/report.h"
#include "analyzer/render/table.h"

namespace luatrace {

// Each view is one more member, an array of objects; views with the same name are put together.
// corrected: functions also say what they are without the cost of recording.
void write_json(std::ostream& out, const Report& report, const std::vector<Table>& views = {},
                bool corrected = false);

// A JSON string with its quotes, valid whatever the bytes: those that are not UTF-8 appear as the
// four characters \xNN.
std::string json_string(std::string_view text);

}  // namespace luatrace
