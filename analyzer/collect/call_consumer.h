// SPDX-License-Identifier: MIT
// Who gets the single calls of files while they are read, in the order of each file.
#pragma once

#include <string>

#include "analyzer/collect/filtered_profile.h"
#include "analyzer/filter/filter_plan.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

class CallConsumer {
 public:
  virtual ~CallConsumer() = default;
  // The observer of the next file's calls, which is used until end_file(). All three live as long.
  virtual CallObserver& begin_file(const FilterPlan& plan, const TraceFacts& facts,
                                   const SymbolFinder& symbols) = 0;
  virtual void end_file() = 0;
  // The option that asks for the calls and for all names beforehand; empty: it takes what there is.
  virtual std::string required_by() const { return ""; }
};

}  // namespace luatrace::analyze
