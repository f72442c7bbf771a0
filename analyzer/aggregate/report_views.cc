// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/report_views.h"

#include <algorithm>

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

void Views::slow() {
  for (const SlowCall& call : result_.filtered->slow->kept()) {
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
  for (const CoroutineLife& life : result_.filtered->coroutines->kept()) {
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
  for (const auto& [key, group] : result_.filtered->coroutines->groups()) {
    ReportBirthPlace b;
    b.born_in = function(key.first);
    b.body = function(key.second);
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
  out.origin_ns = since(from.origin());
  out.slice_ns = clock_.ns(from.width());
  for (const auto& [key, slices] : from.lanes()) {
    ReportLane lane;
    lane.thread = key >> 32 == 0;
    if (lane.thread)
      lane.name = "thread " + std::to_string(static_cast<uint32_t>(key));
    else
      lane.function = function(static_cast<uint32_t>(key));
    for (uint64_t ticks : slices) lane.slices.push_back(clock_.ns(ticks));
    out.lanes.push_back(std::move(lane));
  }
  report_.timelines.push_back(std::move(out));
}

}  // namespace

void add_views(Report& report, const FileResult& result, const std::vector<uint32_t>& map,
               const SymbolFinder& symbols) {
  Views views(report, result, map, symbols);
  if (result.filtered->slow) views.slow();
  if (result.filtered->coroutines) views.coroutines();
  if (result.filtered->threads) views.threads();
  if (result.filtered->timeline) views.timeline();
}

}  // namespace luatrace
