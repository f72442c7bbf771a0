// SPDX-License-Identifier: MIT
#include "views_support.h"

#include "analyzer/collect/verdict_pass.h"
#include "analyzer/read/trace_reader.h"

namespace luatrace::analyze {

namespace {

// `watch`: given the sink before it reads.
template <class Watch>
Report analyse_by(const std::string& text, const FilterOptions& options, uint64_t from, uint64_t to,
                  const std::vector<std::string>& slow, Watch watch) {
  Diagnostics diag("test.txt", [](const std::string&) {});
  Input input("test.txt", std::vector<uint8_t>(text.begin(), text.end()));
  FilterPlan plan;
  plan.options = &options;
  plan.from = from;
  plan.to = to;
  plan.slow = FunctionPatterns(slow);
  SymbolFinder symbols = [](const Function&) { return Symbol{}; };
  CallVerdicts verdicts = find_verdicts(plan, symbols, input, 1);
  input.rewind();
  plan.verdicts = &verdicts;
  TraceFacts facts;
  FilteredProfile profile(plan, facts, symbols);
  watch(profile);
  Streams<FilteredProfile> streams(facts, profile, diag);
  read_trace(input, diag, streams);
  streams.finish();
  Report report;
  add_to_report(report,
                {"test.txt", facts, profile.sums(), &profile.sums().histograms(), &profile,
                 diag.trust, text.size()},
                symbols);
  return report;
}

}  // namespace

Report analyse_filtered(const std::string& text, const FilterOptions& options, uint64_t from,
                        uint64_t to, const std::vector<std::string>& slow) {
  SlowCalls calls(0, false, 5);
  CoroutineLog coroutines(CoroutineLog::By::kSuspended, 0);
  WaitLog waits;
  Timeline timeline;
  ThreadLog threads;
  return analyse_by(text, options, from, to, slow, [&](FilteredProfile& profile) {
    if (!slow.empty()) profile.slow = &calls;
    profile.coroutines = &coroutines;
    profile.waits = &waits;
    profile.timeline = &timeline;
    profile.threads = &threads;
  });
}

Report sum_filtered(const std::string& text, const FilterOptions& options, uint64_t from,
                    uint64_t to) {
  return analyse_by(text, options, from, to, {}, [](FilteredProfile&) {});
}

}  // namespace luatrace::analyze
