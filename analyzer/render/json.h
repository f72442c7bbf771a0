// SPDX-License-Identifier: MIT
// --json: one object with `trace`, `functions` and `trust`, documented in docs/semantics.md.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "analyzer/aggregate/report.h"

namespace luatrace {

void write_json(std::ostream& out, const Report& report);

// A JSON string with its quotes, valid whatever the bytes: those that are not UTF-8 appear as the
// four characters \xNN.
std::string json_string(std::string_view text);

}  // namespace luatrace
