// SPDX-License-Identifier: MIT
#include "analyzer/report/report_views.h"

#include <algorithm>
#include <map>

namespace luatrace::analyze {
namespace {

class Views {
 public:
  Views(Report& report, const FileResult& result, const std::vector<uint32_t>& map,
        const SymbolFinder& symbols)
      : report_(report),
        result_(result),
        clock_(result.facts.clock),
        map_(map),
        symbols_(symbols),
        file_(static_cast<uint32_t>(report.files.size() - 1)),
        first_(first_tick(result.facts)) {}

  void functions();
  void slow();
  void coroutines();
  void threads();
  void timeline();

 private:
  void lanes(ReportTimeline& out, const Timeline& from);
  std::vector<SlowNode> slow_nodes(const SlowCall& call);
  // Nanoseconds since the first event of the file.
  uint64_t since(uint64_t tick) const { return tick > first_ ? clock_.ns(tick - first_) : 0; }
  uint32_t function(uint32_t index) {
    if (index < kFirstFunction) return index == kUnknownFunction ? 1 : 0;
    if (index < map_.size() && map_[index]) return map_[index];
    return report_.function(describe(result_.facts.functions[index], symbols_));
  }

  bool goes_before(uint32_t a, uint32_t b) const {
    const ReportFunction &f = report_.functions[a], &g = report_.functions[b];
    const std::string left = display_name(f), right = display_name(g);
    return std::tie(left, f.chunk, f.line, f.code) < std::tie(right, g.chunk, g.line, g.code);
  }

  Report& report_;
  const FileResult& result_;
  const Clock& clock_;
  const std::vector<uint32_t>& map_;
  const SymbolFinder& symbols_;
  uint32_t file_;
  uint64_t first_;
};

// Adds functions that only views show because filters left them out elsewhere, in an order that
// does not depend on the order of the file's streams.
void Views::functions() {
  const FilteredProfile& from = *result_.filtered;
  std::set<uint32_t> used;
  if (from.slow)
    for (const SlowCall& call : from.slow->kept())
      for (const SlowNode& n : call.nodes) used.insert(n.function);
  if (from.coroutines) {
    for (const CoroutineLife& l : from.coroutines->kept())
      used.insert({l.created_in, l.body, l.longest_in});
    for (const auto& [key, group] : from.coroutines->groups())
      used.insert({key.first, key.second, group.longest_in});
  }
  if (from.timeline)
    for (const auto& [key, lane] : from.timeline->lanes())
      if (key >> 32) used.insert(static_cast<uint32_t>(key));
  std::map<std::string, FunctionName> missing;
  for (uint32_t f : used)
    if (f >= kFirstFunction && (f >= map_.size() || !map_[f])) {
      const FunctionName described = describe(result_.facts.functions[f], symbols_);
      auto [it, fresh] = missing.emplace(identity(described), described);
      const FunctionName& so_far = it->second;  // Choose the same name in any order.
      if (!fresh && std::tie(described.hint, described.name) < std::tie(so_far.hint, so_far.name))
        it->second = described;
    }
  for (const auto& [key, described] : missing) report_.function(described);
}

// Pointers to the items in the order in which they began, or ended.
template <class T>
std::vector<const T*> in_order(const std::vector<T>& kept) {
  std::vector<const T*> out;
  for (const T& item : kept) out.push_back(&item);
  std::sort(out.begin(), out.end(), [](const T* a, const T* b) {
    return std::tie(a->begin, a->stream, a->serial) < std::tie(b->begin, b->stream, b->serial);
  });
  return out;
}

// The tree of a slow call, in ns: functions that are one in the report are unified, and the nodes
// are rounded so that they sum to the rounded inclusive time.
std::vector<SlowNode> Views::slow_nodes(const SlowCall& call) {
  std::vector<SlowNode> out;
  std::vector<uint32_t> place;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
  uint64_t self = 0;
  for (const SlowNode& n : call.nodes) {
    const uint32_t parent = place.empty() ? UINT32_MAX : place[n.parent];
    const auto next = static_cast<uint32_t>(out.size());
    auto [it, fresh] = known.emplace(std::pair(parent, function(n.function)), next);
    if (fresh) out.push_back({place.empty() ? 0 : parent, it->first.second, 0, 0, 0});
    place.push_back(it->second);
    SlowNode& to = out[it->second];
    to.calls += n.calls;
    to.self += clock_.ns(self + n.self) - clock_.ns(self);
    to.suspended += clock_.ns(n.suspended);
    self += n.self;
  }
  return out;
}

void Views::slow() {
  for (const SlowCall* kept : in_order(result_.filtered->slow->kept())) {
    const SlowCall& call = *kept;
    ReportSlowCall out;
    out.file = file_;
    out.state = call.stream;
    out.coroutine = call.coroutine;
    out.thread = call.thread;
    out.at_ns = since(call.begin);
    out.running_ns = clock_.ns(call.running);
    out.wall_ns = clock_.ns(call.wall);
    out.nodes = slow_nodes(call);
    report_.slow.push_back(std::move(out));
  }
  report_.slow_found += result_.filtered->slow->found();
  report_.slow_left_out += result_.filtered->slow->left_out();
}

void Views::coroutines() {
  for (const CoroutineLife* kept : in_order(result_.filtered->coroutines->kept())) {
    const CoroutineLife& life = *kept;
    ReportCoroutine out;
    out.file = file_;
    out.state = life.stream;
    out.id = life.id;
    out.created_in = function(life.created_in);
    out.body = function(life.body);
    out.begin_ns = since(life.begin);
    out.life_ns = clock_.ns(life.end - life.begin);
    out.suspended_ns = clock_.ns(life.suspended);
    out.running_ns = clock_.ns(life.running());
    out.resumes = life.resumes;
    out.longest_ns = clock_.ns(life.longest);
    out.longest_at_ns = since(life.longest_at);
    out.longest_in = function(life.longest_in);
    out.how = life.how;
    report_.lives.push_back(out);
  }
  // Unify the functions of the file that are one in the report.
  std::map<std::pair<uint32_t, uint32_t>, CoroutineGroup> groups;
  for (const auto& [key, group] : result_.filtered->coroutines->groups())
    groups[{function(key.first), function(key.second)}] += group;
  for (const auto& [key, group] : groups) {
    ReportCreationSite b;
    std::tie(b.created_in, b.body) = key;
    auto same = [&](const ReportCreationSite& o) {
      return o.created_in == b.created_in && o.body == b.body;
    };
    auto it = std::find_if(report_.creation_sites.begin(), report_.creation_sites.end(), same);
    if (it == report_.creation_sites.end()) {
      b.longest_in = function(group.longest_in);
      it = report_.creation_sites.insert(it, b);
    }
    it->count += group.count;
    it->running_ns += clock_.ns(group.running);
    it->suspended_ns += clock_.ns(group.suspended);
    it->resumes += group.resumes;
    // Of equal ones take the function whose name sorts first, whatever the order of files.
    const uint64_t longest = clock_.ns(group.longest);
    const uint32_t in = function(group.longest_in);
    if (longest < it->longest_ns || (longest == it->longest_ns && !goes_before(in, it->longest_in)))
      continue;
    it->longest_ns = longest;
    it->longest_in = in;
  }
}

// Rounds each sum so that those of all threads add up to the report's, which are rounded once.
void Views::threads() {
  const auto& processes = result_.facts.processes;
  ThreadSums before;
  const auto round = [&](uint64_t ThreadSums::*member, const ThreadSums& sums) {
    const uint64_t from = before.*member, to = before.*member += sums.*member;
    return clock_.ns(to) - clock_.ns(from);
  };
  for (const auto& [key, sums] : *result_.filtered->threads) {
    auto process = processes.find(key.first);
    ReportThread out;
    out.file = file_;
    out.pid = process == processes.end() ? 0 : process->second.pid;
    out.tid = key.second;
    out.self_ns = clock_.ns(sums.self);
    out.idle_ns = round(&ThreadSums::idle, sums);
    out.gap_ns = round(&ThreadSums::gap, sums);
    out.filtered_ns = round(&ThreadSums::filtered, sums);
    out.calls = sums.calls;
    out.states = sums.states.size();
    report_.thread_list.push_back(out);
  }
}

// Adds `ticks` to `ns`, rounded so that the nanoseconds sum to the sum of the ticks, rounded once.
void add_slices(const Clock& clock, const std::vector<uint64_t>& ticks, std::vector<uint64_t>& ns) {
  ns.resize(std::max(ns.size(), ticks.size()));
  uint64_t before = 0;
  for (size_t i = 0; i < ticks.size(); before += ticks[i++])
    ns[i] += clock.ns(before + ticks[i]) - clock.ns(before);
}

// The slices of a lane, padded to start with the first slice of all lanes.
std::vector<uint64_t> slices_of(const Timeline& timeline, const Timeline::Lane& lane) {
  std::vector<uint64_t> ticks(lane.first - timeline.first());
  ticks.insert(ticks.end(), lane.ticks.begin(), lane.ticks.end());
  return ticks;
}

// Functions of the file that are one in the report share a lane, summed before rounding as in the
// table of functions.
void Views::lanes(ReportTimeline& out, const Timeline& from) {
  std::map<uint32_t, std::vector<uint64_t>> functions;
  for (const auto& [key, sparse] : from.lanes()) {
    const std::vector<uint64_t> ticks = slices_of(from, sparse);
    const auto number = static_cast<uint32_t>(key);
    if (key >> 32 == 0) {
      ReportLane& lane = out.lanes.emplace_back();
      lane.thread = true;
      lane.name = "thread " + std::to_string(number);
      add_slices(clock_, ticks, lane.slices);
      continue;
    }
    auto& sum = functions[function(number)];
    sum.resize(std::max(sum.size(), ticks.size()));
    for (size_t i = 0; i < ticks.size(); i++) sum[i] += ticks[i];
  }
  for (const auto& [number, sum] : functions) {
    ReportLane& lane = out.lanes.emplace_back();
    lane.function = number;
    add_slices(clock_, sum, lane.slices);
  }
}

void Views::timeline() {
  const Timeline& from = *result_.filtered->timeline;
  ReportTimeline out;
  out.file = file_;
  lanes(out, from);
  size_t slices = 0;
  for (const ReportLane& lane : out.lanes) slices = std::max(slices, lane.slices.size());
  const uint64_t begin = result_.filtered->first_tick();
  const uint64_t end = std::max(begin, result_.filtered->last_tick());
  const uint64_t last = UINT64_MAX / from.width();
  for (size_t i = 0; i <= slices; i++) {
    const uint64_t slice = from.first() + i;
    out.borders_ns.push_back(
        since(slice > last ? end : std::clamp(slice * from.width(), begin, end)));
  }
  report_.timelines.push_back(std::move(out));
}

}  // namespace

void add_views(Report& report, const FileResult& result, const std::vector<uint32_t>& map,
               const SymbolFinder& symbols) {
  Views views(report, result, map, symbols);
  views.functions();
  if (result.filtered->slow) views.slow();
  if (result.filtered->coroutines) views.coroutines();
  if (result.filtered->threads) views.threads();
  if (result.filtered->timeline) views.timeline();
}

}  // namespace luatrace::analyze
