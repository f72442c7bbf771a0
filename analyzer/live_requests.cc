// SPDX-License-Identifier: MIT
#include "analyzer/live_requests.h"

#include <algorithm>
#include <utility>

#include "analyzer/report/report_views.h"

namespace luatrace::analyze {
namespace {

RequestRank rank_of(const std::string& sort) {
  if (sort == "running") return [](const RequestSums& r) { return r.own; };
  if (sort == "waits") return [](const RequestSums& r) { return r.waited(); };
  if (sort == "others") return [](const RequestSums& r) { return r.others(); };
  if (sort == "unattributed") return [](const RequestSums& r) { return r.unattributed(); };
  return [](const RequestSums& r) { return r.wall(); };
}

}  // namespace

LiveRequests::LiveRequests(Input& input, const std::function<void(const std::string&)>& warn,
                           const LiveRequestOptions& options)
    : diag_(input.name(), warn),
      symbolizer_("", [](const std::string&) {}),
      finder_([this](const Function& f) { return symbolizer_.find(facts_.maps, f); }),
      sink_(facts_, finder_, options.by, rank_of(options.sort), options.limit),
      streams_(facts_, sink_, diag_) {
  reader_ = std::make_unique<TraceReader>(input, diag_, streams_);
}

LiveRequests::~LiveRequests() = default;

bool LiveRequests::step() {
  if (reader_->step()) return true;
  if (!std::exchange(ended_, true)) streams_.finish();
  return false;
}

Report LiveRequests::rows(const std::vector<RequestSums>& requests) const {
  Report report;
  report.files.emplace_back();
  const auto function = [&](FunctionId index) {
    if (index < kFirstFunction) return index == kUnknownFunction ? kReportUnknown : kReportRoot;
    if (index == kTimerFunction) return report.function(timer_phase());
    return report.function(describe(facts_.functions[index], finder_));
  };
  for (const RequestSums& r : requests) {
    ReportRequest& row = report.requests.emplace_back(report_request(r, function));
    row.id = r.number;
    row.start_ns = facts_.clock.ns(r.begin.tick - std::min(r.begin.tick, facts_.clock.start_tick));
  }
  return report;
}

RequestsReport LiveRequests::interval(uint64_t mono_ns) {
  streams_.settle();
  uint64_t traced = 0;
  for (const StreamSums& sums : facts_.sums) traced += sums.traced;
  traced = facts_.clock.ns(traced);
  const Clock& clock = facts_.clock;
  const uint64_t since = mono_ns - std::min(mono_ns, clock.start_mono_ns);
  RequestInterval interval = sink_.take(since ? clock.ns(clock.start_tick) + since : 0);
  return {std::move(interval.ended),
          interval.open,
          rows(interval.first),
          rows(interval.oldest),
          traced - std::exchange(traced_ns_, traced),
          interval.running_ns,
          interval.idle_ns,
          take_trust(before_, diag_.trust)};
}

}  // namespace luatrace::analyze
