// SPDX-License-Identifier: MIT
#include "analyzer/report/split_report.h"

#include <algorithm>
#include <utility>

#include "analyzer/report/report_views.h"
#include "analyzer/report/tree_times.h"
#include "base/escape.h"
#include "base/saturate.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

// The calls open in a bucket are entered for each: so many nodes in all, and figures of functions.
constexpr uint64_t kMaxNodes = 1u << 26, kMaxFigures = 1u << 23;

// A sum that grows from bucket to bucket.
template <class Convert>
uint64_t grow(uint64_t& sum, uint64_t more, Convert convert) {
  const uint64_t before = convert(sum);
  sum += more;
  return convert(sum) - before;
}

class Splitter {
 public:
  Splitter(Report& report, const FileResult& file, const MergedFile& merged)
      : report_(report),
        file_(file),
        merged_(merged),
        tree_(merged.profile.tree()),
        clock_(merged.clock),
        nodes_(tree_.size()),
        local_(tree_.size()),
        functions_(merged.map.size()),
        local_function_(merged.map.size()) {}

  void run();

 private:
  // Sums over the buckets so far, by node and by function; in ticks but where it says ns.
  struct NodeSoFar {
    uint64_t self = 0, self_ns = 0, suspended = 0, part = 0, part_ns = 0, charges = 0;
  };
  struct FunctionSoFar {
    uint64_t self = 0, inclusive = 0, wall = 0, sum = 0, inside = 0;
  };
  // What a node has in the current bucket.
  struct Part {
    uint64_t calls = 0, self = 0, suspended = 0, part = 0, charges = 0;
    bool listed = false;
  };
  void bucket(uint64_t number, const BucketTicks& from);
  void duration(uint64_t number, TimeBucket& to) const;
  void parts(const BucketTicks& from);
  Part& part(NodeId node);
  void nodes(TimeBucket& to);
  void node(NodeId at, const Part& p, TimeBucket& to);
  void times(const BucketTicks& from, TimeBucket& to);
  NodeId enter(NodeId node, Profile& profile);
  FunctionId local(uint32_t function);
  void figures(FunctionId function, const FunctionTicks& ticks, TimeBucket& to);
  void calls(const BucketTicks& from, TimeBucket& to);
  [[noreturn]] void refuse() const {
    throw UsageError("--bucket: too many calls of " + printable(file_.path) +
                     " are open in too many buckets: give a greater length");
  }
  uint64_t ns(uint64_t& sum, uint64_t ticks) const {
    return grow(sum, ticks, [&](uint64_t t) { return clock_.ns(t); });
  }

  Report& report_;
  const FileResult& file_;
  const MergedFile& merged_;
  const CallTree& tree_;
  const Clock& clock_;
  std::vector<NodeSoFar> nodes_;
  std::vector<NodeId> local_;  // By node: that of the bucket's own profile.
  std::vector<FunctionSoFar> functions_;
  std::vector<FunctionId> local_function_;  // By function: of the same.
  std::vector<FunctionId> listed_functions_;
  std::vector<Part> parts_;
  std::vector<NodeId> listed_;
  uint64_t traced_ = 0, idle_ = 0, gap_ = 0, entered_ = 0, figures_ = 0;
};

Splitter::Part& Splitter::part(NodeId node) {
  if (!std::exchange(parts_[node].listed, true)) listed_.push_back(node);
  return parts_[node];
}

// A call's cost of recording is half in its caller's time.
void Splitter::parts(const BucketTicks& from) {
  for (const BucketNodeTicks& n : from.nodes) {
    const NodeId at = merged_.unified.empty() ? n.node : merged_.unified[n.node];
    Part& p = part(at);
    p.calls += n.calls;
    p.self += n.self;
    p.suspended += n.suspended;
    p.part += n.part;
    if (merged_.cost_ps <= 0 || !n.calls) continue;
    p.charges += n.calls;
    if (at) part(tree_[at].parent).charges += n.calls;
  }
  std::sort(listed_.begin(), listed_.end());
}

void Splitter::node(NodeId at, const Part& p, TimeBucket& to) {
  NodeSoFar& so_far = nodes_[at];
  const uint64_t all = merged_.self_ns[at];
  BucketNode out{merged_.place[at], p.calls, 0, 0, 0, 0};
  so_far.self += p.self;
  // The report has rounded it so that the nodes of a function sum to the function's time.
  const uint64_t self = so_far.self == tree_[at].self ? all : std::min(clock_.ns(so_far.self), all);
  out.self_ns = self - std::exchange(so_far.self_ns, self);
  out.suspended_ns = ns(so_far.suspended, p.suspended);
  so_far.part += p.part;
  // Samples are not rounded, and what ran in compiled code need not be a known function's.
  const uint64_t part = file_.sampled ? so_far.part : std::min(clock_.ns(so_far.part), self);
  out.part_ns = part - std::exchange(so_far.part_ns, part);
  out.cost_ps = grow(so_far.charges, p.charges, [&](uint64_t n) {
    return saturate_u64(merged_.cost_ps * static_cast<double>(n));
  });
  to.nodes.push_back(out);
}

// The function's number in the bucket's own profile.
FunctionId Splitter::local(uint32_t function) {
  if (function < kFirstFunction) return FunctionId(function);
  FunctionId& number = local_function_[function];
  if (!number) {
    listed_functions_.emplace_back(function);
    number = FunctionId(kFirstFunction + static_cast<uint32_t>(listed_functions_.size()) - 1);
  }
  return number;
}

NodeId Splitter::enter(NodeId node, Profile& profile) {
  std::vector<NodeId> path;
  for (; node && !local_[node]; node = tree_[node].parent) path.push_back(node);
  NodeId at = node ? local_[node] : kRootNode;
  for (; !path.empty(); path.pop_back()) {
    at = local_[path.back()] = NodeId(profile.enter(at, local(tree_[path.back()].function)));
    listed_.push_back(path.back());
    if (++entered_ > kMaxNodes) refuse();
  }
  return at;
}

// Times of functions follow from those of nodes: of the bucket's own tree, which has no others.
void Splitter::times(const BucketTicks& from, TimeBucket& to) {
  Profile own;
  for (const NodeId at : std::exchange(listed_, {})) {
    const Part p = std::exchange(parts_[at], {});
    const auto node = static_cast<uint32_t>(enter(at, own));
    own.tree()[NodeId(node)].calls += p.calls;
    own.add_self_time(node, p.self);
    if (p.suspended) own.suspended(node, p.suspended);
  }
  const auto ticks = function_ticks(own, kFirstFunction + listed_functions_.size());
  for (size_t i = 0; i < listed_functions_.size(); i++)
    figures(listed_functions_[i], ticks[kFirstFunction + i], to);
  const uint64_t unknown = from.gap + ticks[kUnknownFunction].self;
  to.idle_ns += ns(idle_, ticks[kNoFunction].self);
  to.gap_ns += ns(gap_, unknown);
  to.filtered_ns += from.filtered;
  uint64_t traced = ticks[kNoFunction].self + unknown + from.filtered;
  for (size_t i = kFirstFunction; i < ticks.size(); i++) traced += ticks[i].self;
  to.traced_ns += ns(traced_, traced);
  for (const NodeId at : std::exchange(listed_, {})) local_[at] = kRootNode;
  for (const FunctionId f : std::exchange(listed_functions_, {})) local_function_[f] = kNoFunction;
}

void Splitter::figures(FunctionId function, const FunctionTicks& ticks, TimeBucket& to) {
  if (!ticks.calls && !ticks.wall && !ticks.self) return;
  FunctionSoFar& so_far = functions_[function];
  if (++figures_ > kMaxFigures) refuse();
  BucketFunction f;
  f.function = merged_.map[function];
  f.calls = ticks.calls;
  f.self_ns = ns(so_far.self, ticks.self);
  f.inclusive_ns = ns(so_far.inclusive, ticks.inclusive);
  f.wall_ns = ns(so_far.wall, file_.sampled ? ticks.inclusive : ticks.wall);
  to.self_ns += f.self_ns;
  to.functions.push_back(std::move(f));
}

// Minima and maxima are those of single calls: they are rounded as they are.
void Splitter::calls(const BucketTicks& from, TimeBucket& to) {
  for (const BucketCalls& c : from.calls) {
    const FunctionId function = merged_.same[c.function];
    BucketFunction f;
    f.function = merged_.map[function];
    f.complete = c.stats.complete;
    f.min_ns = c.stats.complete ? clock_.ns(c.stats.min) : 0;
    f.max_ns = clock_.ns(c.stats.max);
    f.sum_ns = ns(functions_[function].sum, c.stats.sum);
    if (c.stats.inside)
      f.segments.own() = {c.stats.inside, ns(functions_[function].inside, c.stats.inside_sum)};
    f.times = c.times;
    to.functions.push_back(std::move(f));
  }
}

void Splitter::nodes(TimeBucket& to) {
  for (const NodeId at : listed_) node(at, parts_[at], to);
}

// From the first event in the bucket, or its beginning, to the last one, or its end.
void Splitter::duration(uint64_t number, TimeBucket& to) const {
  const auto [first, last] = ticks_of(file_);
  if (last <= first) return;
  const BucketClock& clock = file_.buckets->clock;
  const auto until = [&, begin = first, end = last](uint64_t tick) {
    return clock.clock.ns(std::clamp(tick, begin, end) - begin);
  };
  to.duration_ns += until(clock.begin(number + 1)) - until(clock.begin(number));
}

void Splitter::bucket(uint64_t number, const BucketTicks& from) {
  TimeBucket part;
  part.samples = from.samples;
  duration(number, part);
  parts(from);
  nodes(part);
  times(from, part);
  calls(from, part);
  part.unite();
  report_.buckets.buckets[number].add(part);
}

void Splitter::run() {
  parts_.resize(tree_.size());
  BucketMap& all = file_.buckets->buckets;
  for (; !all.empty(); all.erase(all.begin())) bucket(all.begin()->first, all.begin()->second);
}

}  // namespace

void add_time_buckets(Report& report, const FileResult& file, const MergedFile& merged) {
  report.buckets.width_ns = file.buckets->clock.width_ns;
  Splitter(report, file, merged).run();
}

}  // namespace luatrace::analyze
