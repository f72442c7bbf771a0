// SPDX-License-Identifier: MIT
// Of a report of samples: how often functions were seen, and how exact shares are.
#pragma once

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// Half of the range, in percentage points, in which a share of `hits` of `samples` lies in 95 of
// 100 cases (the interval of Agresti and Coull, which also says something where nothing was seen).
double share_error(uint64_t hits, uint64_t samples);

// The samples in the call tree: those that filters have not left out.
uint64_t shown_samples(const Report& report);

// Fills in the numbers of samples and the errors of all functions of a report of samples. To be
// called once, after all files and groups were summed up. Waits have no errors: they are not
// equally long.
void add_sample_counts(Report& report);

}  // namespace luatrace::analyze
