// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/report_views.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace luatrace {
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
  // Since the first event of the file.
  uint64_t since(uint64_t tick) const { return tick > first_ ? clock_.ns(tick - first_) : 0; }
  uint32_t function(uint32_t index) {
    if (index < kFirstFunction) return index == kUnknownFunction ? 1 : 0;
    if (index < map_.size() && map_[index]) return map_[index];
    return report_.function(describe(result_.facts.functions[index], symbols_));
  }

  Report& report_;
  const FileResult& result_;
  const Clock& clock_;
  const std::vector<uint32_t>& map_;
  const SymbolFinder& symbols_;
  uint32_t file_;
  uint64_t first_;
};

// Those that only views show, which the filters left out otherwise: added in an order that does not
// depend on which stream of the file came first.
void Views::functions() {
  const FilteredProfile& from = *result_.filtered;
  std::set<uint32_t> used;
  if (from.slow)
    for (const SlowCall& call : from.slow->kept())
      for (const SlowNode& n : call.nodes) used.insert(n.function);
  if (from.coroutines) {
    for (const CoroutineLife& l : from.coroutines->kept())
      used.insert({l.born_in, l.body, l.longest_in});
    for (const auto& [key, group] : from.coroutines->groups())
      used.insert({key.first, key.second, group.longest_in});
  }
  if (from.timeline)
    for (const auto& [key, lane] : from.timeline->lanes())
      if (key >> 32) used.insert(static_cast<uint32_t>(key));
  std::map<std::string, ReportFunction> missing;
  for (uint32_t f : used)
    if (f >= kFirstFunction && (f >= map_.size() || !map_[f])) {
      const ReportFunction described = describe(result_.facts.functions[f], symbols_);
      missing.emplace(identity(described), described);
    }
  for (const auto& [key, described] : missing) report_.function(described);
}

// In the order in which they began, or ended.
template <class T>
std::vector<const T*> in_order(const std::vector<T>& kept) {
  std::vector<const T*> out;
  for (const T& item : kept) out.push_back(&item);
  std::sort(out.begin(), out.end(), [](const T* a, const T* b) {
    return std::tie(a->begin, a->stream, a->serial) < std::tie(b->begin, b->stream, b->serial);
  });
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
    for (const SlowNode& n : call.nodes)
      out.nodes.push_back(
          {n.parent, function(n.function), n.calls, clock_.ns(n.self), clock_.ns(n.suspended)});
    report_.slow.push_back(std::move(out));
  }
  report_.slow_found += result_.filtered->slow->found();
}

void Views::coroutines() {
  for (const CoroutineLife* kept : in_order(result_.filtered->coroutines->kept())) {
    const CoroutineLife& life = *kept;
    ReportCoroutine out;
    out.file = file_;
    out.state = life.stream;
    out.id = life.id;
    out.born_in = function(life.born_in);
    out.body = function(life.body);
    out.begin_ns = since(life.begin);
    out.life_ns = clock_.ns(life.end - life.begin);
    out.suspended_ns = clock_.ns(life.suspended);
    out.running_ns = clock_.ns(life.end - life.begin - life.suspended);
    out.resumes = life.resumes;
    out.longest_ns = clock_.ns(life.longest);
    out.longest_at_ns = since(life.longest_at);
    out.longest_in = function(life.longest_in);
    out.how = life.how;
    report_.lives.push_back(out);
  }
  // Functions of the file that are one in the report are one here, too.
  std::map<std::pair<uint32_t, uint32_t>, CoroutineGroup> groups;
  for (const auto& [key, group] : result_.filtered->coroutines->groups())
    groups[{function(key.first), function(key.second)}] += group;
  for (const auto& [key, group] : groups) {
    ReportBirthPlace b;
    std::tie(b.born_in, b.body) = key;
    auto same = [&](const ReportBirthPlace& o) {
      return o.born_in == b.born_in && o.body == b.body;
    };
    auto it = std::find_if(report_.birth_places.begin(), report_.birth_places.end(), same);
    if (it == report_.birth_places.end()) it = report_.birth_places.insert(it, b);
    it->count += group.count;
    it->running_ns += clock_.ns(group.running);
    it->suspended_ns += clock_.ns(group.suspended);
    it->resumes += group.resumes;
    if (clock_.ns(group.longest) <= it->longest_ns) continue;
    it->longest_ns = clock_.ns(group.longest);
    it->longest_in = function(group.longest_in);
  }
}

void Views::threads() {
  const auto& processes = result_.facts.processes;
  for (const auto& [key, sums] : *result_.filtered->threads) {
    auto process = processes.find(key.first);
    ReportThread out;
    out.file = file_;
    out.pid = process == processes.end() ? 0 : process->second.pid;
    out.tid = key.second;
    out.self_ns = clock_.ns(sums.self);
    out.idle_ns = clock_.ns(sums.idle);
    out.gap_ns = clock_.ns(sums.gap);
    out.filtered_ns = clock_.ns(sums.filtered);
    out.calls = sums.calls;
    out.states = sums.states.size();
    report_.thread_list.push_back(out);
  }
}

void Views::timeline() {
  const Timeline& from = *result_.filtered->timeline;
  ReportTimeline out;
  out.file = file_;
  out.origin_ns = since(from.first() * from.width());
  out.slice_ns = clock_.ns(from.width());
  // Threads, then functions of the report, of which several of the file may be one.
  std::map<std::pair<bool, uint32_t>, std::vector<uint64_t>> lanes;
  for (const auto& [key, lane] : from.lanes()) {
    const auto number = static_cast<uint32_t>(key);
    const bool thread = key >> 32 == 0;
    auto& ticks = lanes[{!thread, thread ? number : function(number)}];
    const size_t begin = lane.first - from.first();
    ticks.resize(std::max(ticks.size(), begin + lane.ticks.size()));
    for (size_t i = 0; i < lane.ticks.size(); i++) ticks[begin + i] += lane.ticks[i];
  }
  for (const auto& [key, slices] : lanes) {
    ReportLane lane;
    lane.thread = !key.first;
    if (lane.thread)
      lane.name = "thread " + std::to_string(key.second);
    else
      lane.function = key.second;
    for (uint64_t ticks : slices) lane.slices.push_back(clock_.ns(ticks));
    out.lanes.push_back(std::move(lane));
  }
  report_.timelines.push_back(std::move(out));
}

}  // namespace

void add_views(Report& report, const FileResult& result, const std::vector<uint32_t>& map,
               const SymbolFinder& symbols) {
  Views views(report, result, map, symbols);
  if (result.facts.sums.size() > 1) views.functions();
  if (result.filtered->slow) views.slow();
  if (result.filtered->coroutines) views.coroutines();
  if (result.filtered->threads) views.threads();
  if (result.filtered->timeline) views.timeline();
}

}  // namespace luatrace
