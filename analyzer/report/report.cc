// SPDX-License-Identifier: MIT
#include "analyzer/report/report.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <tuple>

#include "analyzer/collect/tree_links.h"
#include "analyzer/report/canonical_order.h"
#include "analyzer/report/report_views.h"
#include "analyzer/report/split_report.h"
#include "analyzer/report/tree_times.h"
#include "base/saturate.h"

namespace luatrace::analyze {
namespace {

// What the times of the profile are in: ticks, or ns.
const Clock& clock_of(const FileResult& file) {
  static const Clock ns;
  return file.sampled ? ns : file.facts.clock;
}

// Time in gaps, in ticks.
uint64_t gap_ticks(const FileResult& file) {
  if (file.filtered) return file.filtered->gap();
  uint64_t sum = 0;
  for (const StreamSums& sums : file.facts.sums) sum += sums.gap;
  return sum;
}

// Adds the functions and the tree of one file; functions are matched by identity. Entries of the
// file's table that are one function in the report (machine/functions.h says why) are unified
// before anything is summed or rounded, so that recursion does not count twice. If the file has
// several streams, the order of functions does not depend on the order of streams.
class Merger {
 public:
  Merger(Report& report, const FileResult& file, const SymbolFinder& symbols)
      : report_(report),
        file_(file),
        clock_(clock_of(file)),
        profile_(file.profile),
        tree_of_(&profile_),
        symbols_(symbols) {}

  void functions();
  void tree();
  void time_buckets();
  const std::vector<ReportFunctionId>& map() const { return map_; }

 private:
  struct Entry {
    FunctionId index;
    std::string key;  // identity(): equal for entries that are one function in the report.
  };
  // Whether filters may have left out functions.
  bool hides() const { return file_.filtered || file_.sampled; }
  bool has_order() const { return file_.facts.sums.size() > 1; }
  void mark_shown();
  bool is_empty(FunctionId function, const FunctionTicks& ticks) const;
  FunctionName described(FunctionId function) const {
    return describe(file_.facts.functions[function], symbols_);
  }
  void sort(std::vector<Entry>& list) const;
  void unify(std::vector<Entry> list);
  void hide(const Function& function);
  void add_ticks(ReportFunction& f, const FunctionTicks& ticks);
  void add_calls(ReportFunction& f, std::span<const FunctionId> entries);
  uint64_t charges(NodeId node, const std::vector<uint64_t>& below) const;

  Report& report_;
  const FileResult& file_;
  const Clock& clock_;
  const Profile& profile_;
  Profile unified_;         // Replaces profile_ if functions were unified.
  const Profile* tree_of_;  // The one of the two in use.
  const SymbolFinder& symbols_;
  std::vector<ReportFunctionId> map_;  // From function of the file to function of the report.
  std::vector<uint32_t> rank_;         // By function of the file, if has_order().
  std::vector<FunctionId> same_;       // By function of the file: the first entry of what it is in.
  std::vector<FunctionId> list_;       // Functions in the report, entries of one function adjacent.
  std::vector<bool> empty_;            // By node, with filters: nothing is left in its subtree.
  std::vector<bool> shown_;            // By function of the file: it has a node that is not empty.
  std::vector<NodeId> unified_place_;  // By node of profile_: that of unified_; empty: the same.
  std::vector<NodeId> place_;          // By node: that of the report.
  std::vector<uint64_t> self_ns_;      // By node: its part of the time of that; with time buckets.
};

void Merger::add_ticks(ReportFunction& f, const FunctionTicks& ticks) {
  f.calls += ticks.calls;
  f.self_ns += clock_.ns(ticks.self);
  f.inclusive_ns += clock_.ns(ticks.inclusive);
  f.wall_ns += clock_.ns(file_.sampled ? ticks.inclusive : ticks.wall);
  report_.self_ns += clock_.ns(ticks.self);
}

// Adds the call statistics of `entries`, which are one function.
void Merger::add_calls(ReportFunction& f, std::span<const FunctionId> entries) {
  CallStats stats;
  for (const FunctionId function : entries) {
    stats += profile_.stats(function);
    if (file_.histograms) f.times.add(file_.histograms->of(function));
  }
  if (stats.inside) {
    f.segments.own().inside += stats.inside;
    f.segments.own().inside_ns += clock_.ns(stats.inside_sum);
  }
  if (stats.complete == 0) return;
  const uint64_t min_ns = clock_.ns(stats.min);
  f.min_ns = f.complete ? std::min(f.min_ns, min_ns) : min_ns;
  f.max_ns = std::max(f.max_ns, clock_.ns(stats.max));
  f.sum_ns += clock_.ns(stats.sum);
  f.complete += stats.complete;
}

// Whether the report leaves out the function: it is filtered out or has no figures. A recorder that
// leaves out calls (--max-depth, --only-slow) describes their functions, too.
bool Merger::is_empty(FunctionId function, const FunctionTicks& t) const {
  return !shown_[function] && !t.calls && !t.wall && !profile_.stats(function).complete &&
         !profile_.stats(function).inside;
}

// Sorts by identity; entries of one function by name, names that are not mere hints first.
void Merger::sort(std::vector<Entry>& list) const {
  std::sort(list.begin(), list.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.key, a.index) < std::tie(b.key, b.index);
  });
  for (auto begin = list.begin(); begin != list.end();) {
    const auto end =
        std::find_if(begin, list.end(), [&](const Entry& e) { return e.key != begin->key; });
    std::vector<std::tuple<bool, std::string, FunctionId>> same;
    for (auto e = begin; e != end && end - begin > 1; ++e) {
      FunctionName f = described(e->index);
      same.emplace_back(f.hint, std::move(f.name), e->index);
    }
    std::sort(same.begin(), same.end());
    for (const auto& [hint, name, index] : same) (begin++)->index = index;
    begin = end;
  }
}

void Merger::unify(std::vector<Entry> list) {
  sort(list);
  same_.resize(map_.size());
  std::iota(same_.begin(), same_.end(), FunctionId());
  rank_.assign(same_.begin(), same_.end());
  bool unifies = false;
  for (size_t n = 0; n < list.size(); n++) {
    const bool is_same = n && list[n].key == list[n - 1].key;
    same_[list[n].index] = is_same ? same_[list[n - 1].index] : list[n].index;
    rank_[list[n].index] = kFirstFunction + static_cast<uint32_t>(n);
    unifies |= is_same;
    list_.push_back(list[n].index);
  }
  if (!has_order())
    std::stable_sort(list_.begin(), list_.end(),
                     [&](FunctionId a, FunctionId b) { return same_[a] < same_[b]; });
  if (!unifies) return;
  unified_place_ = unified_.add(profile_, &same_);
  unified_.close();
  tree_of_ = &unified_;
}

// By node: whether filters left nothing in its subtree.
std::vector<bool> empty_nodes(const Profile& profile) {
  const CallTree& tree = profile.tree();
  std::vector<bool> empty(tree.size(), true);
  for (NodeId i(static_cast<uint32_t>(tree.size())); i > 0;) {
    --i;
    if (tree[i].calls || tree[i].self || profile.suspended_at(i)) empty[i] = false;
    if (i && !empty[i]) empty[tree[i].parent] = false;
  }
  return empty;
}

// Functions without figures are shown if a node of theirs is not empty: a group, or a call that was
// already open, may have none itself and be above calls that took no time.
void Merger::mark_shown() {
  const CallTree& tree = profile_.tree();
  shown_.resize(file_.facts.functions.size());
  if (hides()) empty_ = empty_nodes(profile_);
  for (NodeId i{1}; i < tree.size(); ++i)
    if (!hides() || !empty_[i]) shown_[tree[i].function] = true;
}

// Keeps the name for messages about patterns that match nothing in the report.
void Merger::hide(const Function& function) {
  if (report_.keeps_hidden && hides() && function.type < kGroupType)
    report_.hidden.push_back(describe(function, symbols_));
}

void Merger::functions() {
  const FunctionTable& table = file_.facts.functions;
  mark_shown();
  std::vector<FunctionTicks> ticks = function_ticks(profile_, table.size());
  map_.resize(table.size());
  map_[kUnknownFunction] = kReportUnknown;
  std::vector<Entry> list;
  for (FunctionId i = kFirstFunction; i < table.size(); ++i)
    if (is_empty(i, ticks[i]))
      hide(table[i]);
    else
      list.push_back({i, identity(described(i))});
  unify(std::move(list));
  if (tree_of_ != &profile_) ticks = function_ticks(*tree_of_, table.size());
  // Reserves the exact number instead of doubling; many small files still double.
  auto& functions = report_.functions;
  if (functions.size() + list_.size() > 2 * functions.capacity())
    functions.reserve(functions.size() + list_.size());
  for (size_t n = 0; n < list_.size();) {
    size_t end = n + 1;
    while (end < list_.size() && same_[list_[end]] == same_[list_[n]]) end++;
    for (size_t i = n; i < end; i++) map_[list_[i]] = report_.function(described(list_[i]));
    const ReportFunctionId index = map_[list_[n]];
    add_ticks(report_.functions[index], ticks[list_[n]]);
    add_calls(report_.functions[index], std::span(list_).subspan(n, end - n));
    n = end;
  }
  report_.idle_ns += clock_.ns(ticks[kNoFunction].self);
  // Time in gaps, and in coroutines whose functions are unknown; rounded together.
  report_.gap_ns += clock_.ns(gap_ticks(file_) + ticks[kUnknownFunction].self);
}

// The number of calls whose cost of recording lies in the node's self time: its own and its
// children's.
uint64_t Merger::charges(NodeId node, const std::vector<uint64_t>& below) const {
  if (tree_of_->has_charges()) return tree_of_->charged_at(node);
  return tree_of_->tree()[node].calls + below[node];
}

// Picoseconds per event.
double cost_of(const FileResult& file) {
  if (file.sampled) return 0;
  const TraceFacts& facts = file.facts;
  double sum = 0;
  for (const auto& [number, info] : facts.streams) sum += static_cast<double>(info.event_cost_ps);
  auto n = static_cast<double>(facts.streams.size());
  return n > 0 ? sum / n : 0;
}

// Adds the tree; nodes of coroutines are merged into the node of the call that resumed them.
void Merger::tree() {
  const CallTree& from = tree_of_->tree();
  place_.resize(from.size());
  if (file_.buckets) self_ns_.resize(from.size());
  const double cost_ps = cost_of(file_);
  std::vector<uint64_t> below(cost_ps > 0 ? from.size() : 0);  // By node: calls of its children.
  if (cost_ps > 0)
    for (NodeId i{1}; i < from.size(); ++i) below[from[i].parent] += from[i].calls;
  if (hides() && tree_of_ != &profile_) empty_ = empty_nodes(*tree_of_);
  // By node, the function whose time it is; by function, the ticks already assigned to its nodes:
  // so the nodes' nanoseconds, rounded one by one, sum to the function's.
  std::vector<uint32_t> owner(from.size());
  std::vector<uint64_t> assigned(file_.facts.functions.size());
  std::vector<NodeId> order;
  if (has_order()) order = canonical_order(from, rank_);
  for (uint32_t at = 0; at < from.size(); at++) {
    const NodeId i = order.empty() ? NodeId(at) : order[at];
    if (!empty_.empty() && empty_[i] && i) continue;
    const CallNode& n = from[i];
    bool own = i != 0 && n.function != kCoroutineFunction;
    const NodeId above = i ? place_[n.parent] : kRootNode;
    owner[i] = i && !own ? owner[n.parent] : n.function;
    uint64_t& ticks = assigned[owner[i]];
    place_[i] = own ? report_.enter(above, map_[n.function]) : above;
    CallNode& to = report_.tree[place_[i]];
    to.calls += n.calls;
    const uint64_t self = clock_.ns(ticks + n.self) - clock_.ns(ticks);
    const bool known = to.function != kReportUnknown;  // Else its time is in gap_ns.
    if (known) to.self += self;
    if (known && file_.buckets) self_ns_[i] = self;
    ticks += n.self;
    report_.node_suspended_ns[place_[i]] += clock_.ns(tree_of_->suspended_at(i));
    const uint64_t off = known ? clock_.ns(tree_of_->off_cpu_at(i)) : 0;
    report_.cpu.off.add(place_[i], std::min(off, self));
    report_.cpu.cut_ns += off - std::min(off, self);
    report_.compiled.add(place_[i], tree_of_->compiled_at(i));
    if (known && place_[i])
      report_.apportioned.add(place_[i], std::min(clock_.ns(tree_of_->apportioned_at(i)), self));
    // A call has two events; half the cost of each lies in its own time, half in its caller's.
    if (cost_ps > 0)
      report_.node_cost_ps[place_[i]] +=
          saturate_u64(cost_ps * static_cast<double>(charges(i, below)));
  }
}

void Merger::time_buckets() {
  if (same_.empty()) {
    same_.resize(map_.size());
    std::iota(same_.begin(), same_.end(), FunctionId());
  }
  add_time_buckets(
      report_, file_,
      {*tree_of_, clock_, unified_place_, same_, map_, place_, self_ns_, cost_of(file_)});
}

void add_sums(Report& report, const FileResult& result, ReportFile& file) {
  const TraceFacts& facts = result.facts;
  const Clock& clock = facts.clock;
  uint64_t traced = 0;
  std::set<std::pair<ProcessId, ThreadId>> threads;
  for (const StreamSums& sums : facts.sums) {
    const ProcessId process = facts.process_of(sums.stream);
    for (ThreadId tid : sums.threads) threads.emplace(process, tid);
    if (sums.threads.empty()) threads.emplace(process, ThreadId(UINT32_MAX - sums.stream));
    traced += sums.traced;
    report.coroutines += sums.coroutines;
    if (sums.traced == 0 || result.sampled) continue;
    (sums.cpu.known ? report.cpu.vms : report.cpu.without)++;
    report.cpu.unknown_ns += clock.ns(std::min(sums.cpu.unknown, sums.traced));
    report.cpu.preempted_ns += clock.ns(std::min(sums.cpu.preempted, sums.traced));
    report.cpu.cut_ns += clock.ns(sums.cpu.cut);
  }
  report.threads += threads.size();
  if (const FilteredProfile* f = result.filtered) {
    traced = f->traced();
    report.filtered_ns += clock.ns(f->filtered());
  }
  if (result.sampled) report.filtered_ns += result.sampled->filtered_ns();
  report.traced_ns += clock_of(result).ns(traced);
  const auto [first, last] = ticks_of(result);
  if (last <= first) return;
  file.duration_ns = clock.ns(last - first);
  report.duration_ns += file.duration_ns;
}

ReportFile describe_file(const FileResult& result) {
  const TraceFacts& facts = result.facts;
  ReportFile file;
  file.path = result.path;
  for (const auto& [number, info] : facts.processes) file.processes.push_back(info);
  for (const auto& [number, info] : facts.streams) file.streams.push_back(info);
  file.notes = facts.notes;
  file.ended = facts.end.has_value();
  if (file.ended) file.end = *facts.end;
  file.bytes = result.bytes;
  file.clock = facts.clock.kind;
  const uint64_t first = first_tick(facts);
  if (facts.clock.start_real_ns && first != UINT64_MAX)
    file.start_real_ns = facts.clock.real_ns(first);
  file.start_mono_ns = facts.clock.mono_ns(first);
  return file;
}

}  // namespace

std::pair<uint64_t, uint64_t> ticks_of(const FileResult& file) {
  uint64_t first = first_tick(file.facts), last = 0;
  for (const StreamSums& sums : file.facts.sums)
    if (sums.traced) last = std::max(last, sums.last);
  if (const FilteredProfile* f = file.filtered)
    return {std::max(first, f->first_tick()), std::min(last, f->last_tick())};
  if (!file.sampled) return {first, last};
  const auto [from, to] = file.sampled->ticks();
  return {std::max(first, from), std::min(last, to)};
}

uint64_t first_tick(const TraceFacts& facts) {
  uint64_t first = UINT64_MAX;
  for (const StreamSums& sums : facts.sums)
    if (sums.traced) first = std::min(first, sums.first);
  return first;
}

void add_figures(FunctionFigures& to, const FunctionFigures& from) {
  if (from.complete) {
    to.min_ns = to.complete ? std::min(to.min_ns, from.min_ns) : from.min_ns;
    to.max_ns = std::max(to.max_ns, from.max_ns);
    to.sum_ns += from.sum_ns;
    to.complete += from.complete;
    to.times.add(from.times);
  }
  if (from.segments) {
    to.segments.own().inside += from.segments->inside;
    to.segments.own().inside_ns += from.segments->inside_ns;
  }
  to.calls += from.calls;
  to.self_ns += from.self_ns;
  to.inclusive_ns += from.inclusive_ns;
  to.wall_ns += from.wall_ns;
}

ReportWait& ReportWait::operator+=(const ReportWait& other) {
  count += other.count;
  total_ns += other.total_ns;
  min_ns = std::min(min_ns, other.min_ns);
  max_ns = std::max(max_ns, other.max_ns);
  unfinished += other.unfinished;
  times.add(other.times);
  return *this;
}

Report::Report() : functions(kReportFirst), node_cost_ps(1), node_suspended_ns(1) {
  functions[kReportRoot].kind = FunctionKind::kRoot;
  functions[kReportUnknown].kind = FunctionKind::kGap;
  functions[kReportUnknown].name = "[unknown callers]";
}

ReportFunctionId Report::find(const FunctionName& described) const {
  if (described.kind == FunctionKind::kGap) return kReportUnknown;
  const std::string key = identity(described);
  const auto [begin, end] = index_.equal_range(std::hash<std::string>()(key));
  for (auto at = begin; at != end; ++at)
    if (identity(functions[at->second]) == key) return at->second;
  return kReportRoot;
}

ReportFunctionId Report::function(const FunctionName& described) {
  ReportFunctionId index = find(described);
  if (index == kReportRoot) {
    index = ReportFunctionId(static_cast<uint32_t>(functions.size()));
    index_.emplace(std::hash<std::string>()(identity(described)), index);
    FunctionName& f = functions.emplace_back();
    f = described;
    f.name.clear();  // take_name() chooses among the candidates.
    f.hint = false;
  }
  take_name(functions[index], described.name, described.hint);
  return index;
}

NodeId Report::enter(NodeId node, ReportFunctionId function) {
  const NodeId child = tree.enter(node, function);
  node_cost_ps.resize(tree.size());
  node_suspended_ns.resize(tree.size());
  return child;
}

std::string labels_text(const ReportRequest& request) {
  std::string out;
  for (const auto& [key, value] : request.labels)
    out += (out.empty() ? "" : ", ") + key + '=' + value;
  return out;
}

void add_to_report(Report& report, const FileResult& result, const SymbolFinder& symbols) {
  ReportFile file = describe_file(result);
  report.bytes += result.bytes;
  report.trust += result.trust;
  if (result.sampled) report.samples += result.sampled->sums();
  report.cost_ns += saturate_u64(cost_of(result) / 1000 * static_cast<double>(result.trust.events));
  add_sums(report, result, file);
  report.files.push_back(std::move(file));
  Merger merger(report, result, symbols);
  merger.functions();
  merger.tree();
  if (result.buckets) merger.time_buckets();
  if (result.filtered) add_views(report, result, merger.map(), symbols);
  if (report.keeps_codes) add_codes(report, result, merger.map(), symbols);
}

void sum_up_groups(Report& report) {
  const CallTree& tree = report.tree;
  std::vector<NodeId> root(tree.size());
  for (NodeId i{1}; i < tree.size(); ++i) {
    root[i] = tree[i].parent ? root[tree[i].parent] : i;
    ReportFunction& group = report.functions[tree[root[i]].function];
    ReportFunction& f = report.functions[tree[i].function];
    // A coroutine above groups by file is not one of these groups.
    if (group.coroutine && f.kind == FunctionKind::kGroup && !f.coroutine && !group.self_ns)
      group.in_group = true;
    if (group.kind != FunctionKind::kGroup || root[i] == i ||
        (f.kind == FunctionKind::kGroup && !f.coroutine))
      continue;
    f.in_group = f.coroutine;
    group.inner_calls += tree[i].calls;
    group.inner_self_ns += tree[i].self;
  }
  // Sums of figures rounded per function must not exceed a figure that was rounded once.
  for (ReportFunction& f : report.functions) {
    if (!f.inner_self_ns) continue;
    f.inclusive_ns = std::max(f.inclusive_ns, f.self_ns + f.inner_self_ns);
    f.wall_ns = std::max(f.wall_ns, f.inclusive_ns);
  }
}

void add_suspended_nodes(Report& report) {
  ReportFunction f;
  f.kind = FunctionKind::kSuspended;
  f.name = "[suspended]";
  const ReportFunctionId suspended = report.function(f);
  report.tree.make_index();
  const size_t n = report.tree.size();
  for (NodeId i{1}; i < n; ++i) {
    if (report.node_suspended_ns[i] == 0) continue;
    const NodeId node = report.enter(i, suspended);
    report.tree[node].self += report.node_suspended_ns[i];
  }
}

std::vector<uint64_t> inclusive_ns(const CallTree& tree) {
  return subtree_sums(tree, [&](NodeId node) { return tree[node].self; });
}

}  // namespace luatrace::analyze
