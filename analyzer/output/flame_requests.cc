// SPDX-License-Identifier: MIT
#include "analyzer/output/flame_requests.h"

#include <algorithm>

namespace luatrace::analyze {
namespace {

// If there are too many: the slowest ones, a half, and every so many-th of the others.
std::vector<uint32_t> choose(const std::vector<ReportRequest>& all) {
  std::vector<uint32_t> order(all.size());
  for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
  if (order.size() <= kMaxPageRequests) return order;
  const auto slowest = order.begin() + kMaxPageRequests / 2;
  std::nth_element(order.begin(), slowest, order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(all[b].wall_ns, a) < std::tuple(all[a].wall_ns, b);
  });
  std::vector<uint32_t> chosen(order.begin(), slowest);
  std::sort(slowest, order.end());
  const auto others = static_cast<size_t>(order.end() - slowest);
  const size_t space = kMaxPageRequests - chosen.size();
  for (size_t i = 0; i < space; i++)
    chosen.push_back(slowest[static_cast<std::ptrdiff_t>(i * others / space)]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

FlameRequests page_requests(const Report& report, const FlameChart& chart) {
  FlameRequests out;
  out.all = report.requests.size();
  if (out.all == 0) return out;
  for (const ReportFile& file : report.files) out.files.push_back(file.path);
  auto steps = report.request_steps.begin();  // In the same order.
  for (const uint32_t i : choose(report.requests)) {
    const ReportRequest& r = report.requests[i];
    while (steps != report.request_steps.end() && steps->request < i) ++steps;
    const bool has_steps = steps != report.request_steps.end() && steps->request == i;
    const uint64_t ns = report.files[r.file].start_mono_ns + r.start_ns;
    // Without the saved profiles, which have no chart, files would not be known by their numbers.
    const bool apart = chart.file_begins_ns.size() == report.files.size();
    const uint64_t zero = apart ? chart.file_begins_ns[r.file] : 0;
    out.shown.push_back({&r, has_steps ? &*steps : nullptr, ns - std::min(ns, zero)});
  }
  return out;
}

}  // namespace luatrace::analyze
