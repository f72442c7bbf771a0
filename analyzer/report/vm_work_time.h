// SPDX-License-Identifier: MIT
// The time of what the VM does itself, for sums of a whole report.
#pragma once

#include <cstdint>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// ns. wanted: one of symbols/vm_work.h. Of samples, the C functions of the VM below it are
// included, and the finalizers that the collector calls: samples have no entry and return of these.
uint64_t vm_work_time(const Report& report, bool (*wanted)(const FunctionName&));

}  // namespace luatrace::analyze
