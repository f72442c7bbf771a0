// SPDX-License-Identifier: MIT
// --timeline of saved profiles: the self times of functions in their time buckets.
#pragma once

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// Adds a timeline of the report's time buckets. A slice is one of them, or several if they are
// many.
void add_bucket_timeline(Report& report);

}  // namespace luatrace::analyze
