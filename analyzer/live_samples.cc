// SPDX-License-Identifier: MIT
#include "analyzer/live_samples.h"

#include "analyzer/live.h"
#include "analyzer/report/sample_counts.h"

namespace luatrace::analyze {

LiveSamples::LiveSamples(Input& input, const std::function<void(const std::string&)>& warn)
    : diag_(input.name(), warn),
      budget_(kMaxNodes),
      symbolizer_("", [](const std::string&) {}),
      finder_([this](const Function& f) { return symbolizer_.find(facts_.maps, f); }),
      profile_((plan_.options = &options_, plan_), facts_, finder_, diag_, false) {
  profile_.limit(&*budget_);
  reader_ = std::make_unique<TraceReader>(input, diag_, profile_);
}

LiveSamples::~LiveSamples() = default;

Report LiveSamples::interval() {
  profile_.finish(true);
  const Trust trust = take_trust(before_, diag_.trust);
  Report report;
  report.sampled = profile_.off_cpu() ? SampleKind::kOffCpu : SampleKind::kCpu;
  add_to_report(report, {"", facts_, profile_.profile(), nullptr, nullptr, trust, 0, &profile_},
                finder_);
  add_sample_counts(report);
  budget_.emplace(kMaxNodes);
  profile_.restart(&*budget_);
  return report;
}

}  // namespace luatrace::analyze
