// SPDX-License-Identifier: MIT
// From the report to the flame graph page (analyzer/page).
#pragma once

#include <iosfwd>

#include "analyzer/aggregate/report.h"

namespace luatrace {

void write_flame(std::ostream& out, const Report& report);

}  // namespace luatrace
