// SPDX-License-Identifier: MIT
// The interface of outputs that receive the single calls of files while they are read, in the order
// of each file.
#pragma once

#include <string>

#include "analyzer/collect/filtered_profile.h"
#include "analyzer/filter/filter_plan.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

class CallConsumer {
 public:
  virtual ~CallConsumer() = default;
  // Returns the observer of the next file's calls. It and the arguments are used until end_file().
  virtual CallObserver& begin_file(const FilterPlan& plan, const TraceFacts& facts,
                                   const SymbolFinder& symbols) = 0;
  virtual void end_file() = 0;
  // Returns the option that requires all calls, and names in advance; "" if it takes what is there.
  virtual std::string required_by() const { return ""; }
};

}  // namespace luatrace::analyze
