// SPDX-License-Identifier: MIT
#include "analyzer/live.h"

#include <utility>

namespace luatrace::analyze {

Trust take_trust(Trust& before, const Trust& now) {
  Trust trust = now;
  for (const auto& [name, counter] : kCounters)
    trust.*counter -= std::min(before.*counter, trust.*counter);
  before = now;
  return trust;
}

LiveTrace::LiveTrace(Input& input, const std::function<void(const std::string&)>& warn)
    : budget_(kMaxNodes),
      diag_(input.name(), warn),
      streams_(facts_, profile_, diag_),
      symbolizer_("", [](const std::string&) {}) {
  profile_.limit(&*budget_);
  reader_ = std::make_unique<TraceReader>(input, diag_, streams_);
}

LiveTrace::~LiveTrace() = default;

Report LiveTrace::interval() {
  streams_.settle();
  const Trust trust = take_trust(before_, diag_.trust);
  Report report;
  add_to_report(report, {"", facts_, profile_, nullptr, nullptr, trust, 0},
                [&](const Function& f) { return symbolizer_.find(facts_.maps, f); });
  profile_ = Profile();
  budget_.emplace(kMaxNodes);
  profile_.limit(&*budget_);
  streams_.restart();
  return report;
}

}  // namespace luatrace::analyze
