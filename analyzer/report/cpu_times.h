// SPDX-License-Identifier: MIT
// CPU time of functions: their time without that in which the thread did not run. And how much of
// their time was apportioned.
#pragma once

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// Fills in the CPU times of all functions if they are known (Report::cpu). To be called once, after
// all files and groups were summed up.
void add_cpu_times(Report& report);

// The same for the times that were apportioned inside segments; all 0 if there are none.
void add_apportioned_times(Report& report);

}  // namespace luatrace::analyze
