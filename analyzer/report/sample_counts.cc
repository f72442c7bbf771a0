// SPDX-License-Identifier: MIT
#include "analyzer/report/sample_counts.h"

#include <algorithm>
#include <cmath>

#include "analyzer/collect/tree_links.h"
#include "analyzer/report/tree_times.h"

namespace luatrace::analyze {

double share_error(uint64_t hits, uint64_t samples) {
  constexpr double kZ = 1.96;  // 95 % of a normal distribution are within so many deviations.
  const double n = static_cast<double>(samples) + kZ * kZ;
  const double share = (static_cast<double>(hits) + kZ * kZ / 2) / n;
  return 100 * kZ * std::sqrt(share * (1 - share) / n);
}

uint64_t shown_samples(const Report& r) {
  uint64_t sum = 0;
  for (NodeId i{0}; i < r.tree.size(); ++i) sum += r.tree[i].calls;
  return sum;
}

void add_sample_counts(Report& r) {
  if (!r.is_sampled()) return;
  const uint64_t all = shown_samples(r);
  const std::vector<uint64_t> samples =
      outermost_sums(r.tree, r.functions.size(),
                     subtree_sums(r.tree, [&](NodeId node) { return r.tree[node].calls; }));
  const std::vector<uint64_t> compiled = self_sums(r, r.compiled);
  for (size_t i = 0; i < r.functions.size(); i++) {
    ReportFunction& f = r.functions[i];
    f.sampled = true;
    f.samples = samples[i];
    f.compiled_ns = std::min(compiled[i], f.self_ns + f.inner_self_ns);
    if (r.sampled == SampleKind::kCpu && all)
      f.error = static_cast<float>(share_error(f.calls + f.inner_calls, all));
  }
}

}  // namespace luatrace::analyze
