// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/verdicts.h"

#include <deque>
#include <memory>

#include "analyzer/aggregate/filtered_profile.h"
#include "analyzer/decode/trace_reader.h"
#include "analyzer/stacks/parallel_streams.h"

namespace luatrace {
namespace {

// `make`: as ParallelStreams wants it.
template <class Sink, class Make>
std::unique_ptr<Sink> read_all(Input& input, TraceFacts& facts, size_t jobs, Make make) {
  Diagnostics silent(input.name(), [](const std::string&) {});
  if (jobs > 1) return ParallelStreams<Sink>(facts, silent, jobs, make).read(input);
  std::unique_ptr<Sink> sink = make(facts);
  Streams<Sink> streams(facts, *sink, silent);
  read_trace(input, silent, streams);
  streams.finish();
  return sink;
}

}  // namespace

void BriefCalls::throw_too_many() {
  throw Unreadable(
      "-t is for traces of up to 4,294,967,295 calls in each Lua state: cut this one "
      "(--time-range), or leave -t out");
}

bool needs_verdicts(const FilterOptions& options) {
  return options.least_ns || !options.callers.empty();
}

CallVerdicts find_verdicts(const FilterPlan& plan, const SymbolFinder& symbols, Input& input,
                           size_t jobs) {
  TraceFacts facts;
  if (plan.options->callers.empty()) {
    auto make = [&](const TraceFacts&) {
      return std::make_unique<BriefCalls>(plan.options->least_ns);
    };
    return std::move(read_all<BriefCalls>(input, facts, jobs, make)->verdicts);
  }
  FilterPlan undecided = plan;
  undecided.verdicts = nullptr;
  std::deque<CallVerdicts> parts;  // Of each worker.
  read_all<FilteredProfile>(input, facts, jobs, [&](const TraceFacts& mine) {
    auto sink = std::make_unique<FilteredProfile>(undecided, mine, facts.functions, symbols);
    sink->decide(parts.emplace_back());
    return sink;
  });
  CallVerdicts all;
  for (CallVerdicts& part : parts) all.add(std::move(part));
  return all;
}

}  // namespace luatrace
