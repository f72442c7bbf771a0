// SPDX-License-Identifier: MIT
// Filters and groupings once more, slowly: from docs/analyzing.md alone, on the list of all calls
// and stretches of time that tests/analyzer/model.cc made. It shares nothing with analyzer/ but the
// structure of options. Functions are numbers here: patterns must be names f1 ... f9.
#pragma once

#include <map>

#include "analyzer/filter/filter.h"
#include "model.h"

namespace luatrace::analyze::model {

struct Filtered {
  std::map<uint32_t, Numbers> functions;  // Without wall.
  uint64_t idle = 0, gap = 0, filtered = 0, traced = 0;
};

// `from`, `to`: ticks, as options.from and options.to mean them.
Filtered filter(const Result& model, const FilterOptions& options, uint64_t from, uint64_t to);

}  // namespace luatrace::analyze::model
