// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/verdicts.h"

#include <memory>

#include "analyzer/aggregate/leading_calls.h"
#include "analyzer/decode/trace_reader.h"
#include "analyzer/stacks/parallel_streams.h"

namespace luatrace {

void throw_too_many_calls() {
  throw Unreadable(
      "-t and -C are for traces of up to 4,294,967,295 calls in each Lua state: cut this one "
      "(--time-range), or leave them out");
}

bool needs_verdicts(const FilterOptions& options) {
  return options.least_ns || !options.callers.empty();
}

CallVerdicts find_verdicts(const FilterPlan& plan, const SymbolFinder& symbols, Input& input,
                           size_t jobs) {
  Diagnostics silent(input.name(), [](const std::string&) {});
  TraceFacts facts;
  if (plan.options->callers.empty()) {
    auto brief = [&](const TraceFacts&) {
      return std::make_unique<BriefCalls>(plan.options->least_ns);
    };
    return std::move(read_streams<BriefCalls>(input, facts, silent, jobs, brief)->verdicts);
  }
  auto leading = [&](const TraceFacts&) {
    return std::make_unique<LeadingCalls>(plan, facts.functions, symbols);
  };
  return std::move(read_streams<LeadingCalls>(input, facts, silent, jobs, leading)->verdicts);
}

}  // namespace luatrace
