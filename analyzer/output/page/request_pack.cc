// SPDX-License-Identifier: MIT
#include "analyzer/output/page/request_pack.h"

#include <initializer_list>
#include <stdexcept>
#include <string>

#include "base/leb128.h"

namespace luatrace::analyze::page {
namespace {

class RequestEncoder {
 public:
  RequestEncoder(size_t functions, uint64_t origin_ns)
      : functions_(functions), origin_(origin_ns) {}

  void add(const FlameRequest& request) {
    const ReportRequest& r = *request.sums;
    numbers({r.file, r.id, uint64_t(r.vm), distance(request.begin_ns), r.running_ns, r.wait_ns,
             r.others_ns, r.unattributed_ns, r.coroutines,
             r.begun_before + 2u * r.unfinished + 4u * r.timer + 8u * r.unsure});
    numbers({r.waits.size()});
    for (const auto& w : r.waits) numbers({function(w.function), function(w.inner), w.count, w.ns});
    numbers({r.phases.size()});
    for (const auto& p : r.phases) numbers({function(p.function), p.running_ns, p.wait_ns});
    numbers({request.steps ? request.steps->steps.size() : 0});
    if (request.steps)
      for (const ReportRequestStep& s : request.steps->steps) add_step(s);
  }
  std::vector<uint8_t> bytes;

 private:
  void numbers(std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) put_leb128(bytes, value);
  }
  // A request begins before its first call, so the first one may begin before the chart.
  uint64_t distance(uint64_t ns) const {
    return ns < origin_ ? 2 * (origin_ - ns) + 1 : 2 * (ns - origin_);
  }
  uint64_t function(ReportFunctionId f) const {
    if (f >= functions_)
      throw std::invalid_argument("flame page: a request has function " + std::to_string(f));
    return f;
  }
  void add_step(const ReportRequestStep& s) {
    const bool named = s.function != kReportRoot || s.inner != kReportRoot;
    numbers({2u * s.runs + named, s.ns, s.others_ns});
    if (named) numbers({function(s.function), function(s.inner)});
    numbers({uint64_t(s.coroutine), function(s.phase)});
  }

  const size_t functions_;
  const uint64_t origin_;
};

}  // namespace

std::vector<uint8_t> pack_requests(const FlameInput& input, uint64_t origin_ns) {
  RequestEncoder encoder(input.functions.size(), origin_ns);
  for (const FlameRequest& request : input.requests.shown) encoder.add(request);
  return std::move(encoder.bytes);
}

}  // namespace luatrace::analyze::page
