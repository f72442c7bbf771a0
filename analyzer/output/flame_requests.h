// SPDX-License-Identifier: MIT
// Which requests are in the page: up to a number of them, the slowest and some of the others.
#pragma once

#include "analyzer/output/page/flame_page.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

constexpr size_t kMaxPageRequests = 10000;

// Their times are those of the chart.
FlameRequests page_requests(const Report& report, const FlameChart& chart);

}  // namespace luatrace::analyze
