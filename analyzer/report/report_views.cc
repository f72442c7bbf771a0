// SPDX-License-Identifier: MIT
#include "analyzer/report/report_views.h"

#include <algorithm>
#include <map>

#include "analyzer/collect/request_rules.h"
#include "analyzer/collect/request_trail.h"

namespace luatrace::analyze {
namespace {

class Views {
 public:
  Views(Report& report, const FileResult& result, const std::vector<ReportFunctionId>& map,
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
  void waits();
  void requests();
  void turns();
  void threads();
  void timeline();

 private:
  ReportRequest request(const RequestSums& from);
  void request_detail(const RequestTrail& from, const RequestSums& request);
  ReportRequestStep request_step(const RequestStep& step, const RequestSums& request);
  void request_steps(const RequestSteps& from, const RequestSums& request);
  void lanes(ReportTimeline& out, const Timeline& from);
  std::vector<SlowNode> slow_nodes(const SlowCall& call);
  // Nanoseconds since the first event of the file.
  uint64_t since(uint64_t tick) const { return tick > first_ ? clock_.ns(tick - first_) : 0; }
  ReportFunctionId function(FunctionId index) {
    if (index < kFirstFunction) return index == kUnknownFunction ? kReportUnknown : kReportRoot;
    if (index < map_.size() && map_[index]) return map_[index];
    if (index == kTimerFunction) return report_.function(timer_phase());
    return report_.function(describe(result_.facts.functions[index], symbols_));
  }

  bool is_before(ReportFunctionId a, ReportFunctionId b) const {
    const ReportFunction &f = report_.functions[a], &g = report_.functions[b];
    const std::string left = display_name(f), right = display_name(g);
    return std::tie(left, f.chunk, f.line, f.code) < std::tie(right, g.chunk, g.line, g.code);
  }

  Report& report_;
  const FileResult& result_;
  const Clock& clock_;
  const std::vector<ReportFunctionId>& map_;
  const SymbolFinder& symbols_;
  uint32_t file_;
  uint64_t first_;
};

// Adds functions that only views show because filters left them out elsewhere, in an order that
// does not depend on the order of the file's streams.
void Views::functions() {
  const FilteredProfile& from = *result_.filtered;
  std::set<FunctionId> used;
  if (from.slow)
    for (const SlowCall& call : from.slow->kept())
      for (const SlowNode& n : call.nodes) used.insert(FunctionId(n.function));
  if (from.coroutines) {
    for (const CoroutineLife& l : from.coroutines->kept())
      used.insert({l.created_in, l.body, l.longest_in});
    for (const auto& [key, group] : from.coroutines->groups())
      used.insert({key.first, key.second, group.longest_in});
  }
  if (from.waits)
    for (const auto& [key, sums] : *from.waits) used.insert({key.first, key.second});
  if (from.requests)
    for (const RequestSums* r : from.requests->requests()) {
      for (const RequestWait& w : r->waits) used.insert({w.function, w.inner});
      for (const RequestPhase& p : r->phases) used.insert(p.function);
    }
  if (from.requests && from.requests->turns())
    for (const auto& [entry, sums] : from.requests->turns()->sums()) used.insert(entry);
  if (from.timeline)
    for (const auto& [id, lane] : from.timeline->lanes())
      if (id.kind == LaneId::Kind::kFunction) used.insert(FunctionId(id.number));
  std::map<std::string, FunctionName> missing;
  for (FunctionId f : used)
    if (f >= kFirstFunction && f != kTimerFunction && (f >= map_.size() || !map_[f])) {
      const FunctionName described = describe(result_.facts.functions[f], symbols_);
      auto [it, fresh] = missing.emplace(identity(described), described);
      const FunctionName& so_far = it->second;  // Choose the same name in any order.
      if (!fresh && std::tie(described.hint, described.name) < std::tie(so_far.hint, so_far.name))
        it->second = described;
    }
  for (const auto& [key, described] : missing) report_.function(described);
}

// Pointers to the items in the order in which they began; equal ones as they ended in a stream.
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
    auto [it, fresh] = known.emplace(std::pair(parent, function(FunctionId(n.function))), next);
    if (fresh) out.push_back({place.empty() ? 0 : parent, it->first.second});
    place.push_back(it->second);
    SlowNode& to = out[it->second];
    to.calls += n.calls;
    to.self += clock_.ns(self + n.self) - clock_.ns(self);
    to.suspended += clock_.ns(n.suspended);
    to.apportioned += clock_.ns(self + n.apportioned) - clock_.ns(self);
    self += n.self;
  }
  return out;
}

void Views::slow() {
  for (const SlowCall* call : in_order(result_.filtered->slow->kept())) {
    report_.slow.push_back({.file = file_,
                            .vm = call->stream,
                            .coroutine = call->coroutine,
                            .thread = call->thread,
                            .at_ns = since(call->begin),
                            .inclusive_ns = clock_.ns(call->running),
                            .wall_ns = clock_.ns(call->wall),
                            .nodes = slow_nodes(*call)});
  }
  report_.slow_found += result_.filtered->slow->found();
  report_.slow_left_out += result_.filtered->slow->left_out();
}

void Views::coroutines() {
  for (const CoroutineLife* life : in_order(result_.filtered->coroutines->kept())) {
    report_.coroutine_list.push_back({.file = file_,
                                      .vm = life->stream,
                                      .id = life->id,
                                      .created_in = function(life->created_in),
                                      .body = function(life->body),
                                      .calls = life->calls,
                                      .self_ns = clock_.ns(life->self),
                                      .begin_ns = since(life->begin),
                                      .life_ns = clock_.ns(life->end - life->begin),
                                      .running_ns = clock_.ns(life->running()),
                                      .suspended_ns = clock_.ns(life->suspended),
                                      .resumes = life->resumes,
                                      .longest_ns = clock_.ns(life->longest),
                                      .longest_at_ns = since(life->longest_at),
                                      .longest_in = function(life->longest_in),
                                      .how = life->how});
  }
  // Unify the functions of the file that are one in the report.
  std::map<std::pair<ReportFunctionId, ReportFunctionId>, CoroutineGroup> groups;
  for (const auto& [key, group] : result_.filtered->coroutines->groups())
    groups[{function(key.first), function(key.second)}] += group;
  auto& sites = report_.creation_sites;
  std::map<std::pair<ReportFunctionId, ReportFunctionId>, size_t> place;
  for (size_t i = 0; i < sites.size(); i++)
    place.emplace(std::pair(sites[i].created_in, sites[i].body), i);
  for (const auto& [key, group] : groups) {
    const auto [at, fresh] = place.emplace(key, sites.size());
    if (fresh) {
      ReportCreationSite& first = sites.emplace_back();
      std::tie(first.created_in, first.body) = key;
      first.longest_in = function(group.longest_in);
    }
    ReportCreationSite& site = sites[at->second];
    site.count += group.count;
    site.running_ns += clock_.ns(group.running);
    site.suspended_ns += clock_.ns(group.suspended);
    site.resumes += group.resumes;
    // Of equal ones take the function whose name sorts first, whatever the order of files.
    const uint64_t longest = clock_.ns(group.longest);
    const ReportFunctionId in = function(group.longest_in);
    if (longest < site.longest_ns ||
        (longest == site.longest_ns && !is_before(in, site.longest_in)))
      continue;
    site.longest_ns = longest;
    site.longest_in = in;
  }
}

void Views::waits() {
  // Unify the functions of the file that are one in the report.
  std::map<std::pair<ReportFunctionId, ReportFunctionId>, WaitSums> all;
  for (const auto& [key, sums] : *result_.filtered->waits)
    all[{function(key.first), function(key.second)}] += sums;
  for (const auto& [key, sums] : all)
    report_.waits[key] += {sums.count,  clock_.ns(sums.ticks), sums.min_ns,
                           sums.max_ns, sums.unfinished,       sums.times()};
}

ReportRequest Views::request(const RequestSums& from) {
  ReportRequest out = report_request(from, [this](FunctionId index) { return function(index); });
  out.file = file_;
  const TickRange& range = result_.filtered->requests->range();
  out.start_ns = since(range.clamp(from.begin.tick));
  return out;
}

void Views::request_detail(const RequestTrail& from, const RequestSums& request) {
  ReportRequestDetail& out = report_.request_detail.emplace();
  out.request = report_.requests.back();
  for (const SlowCall& call : from.calls.kept()) out.nodes = slow_nodes(call);
  for (const RequestStep& s : from.steps()) out.steps.push_back(request_step(s, request));
}

ReportRequestStep Views::request_step(const RequestStep& s, const RequestSums& request) {
  return {s.from_ns - request.begin.total,
          s.ns,
          s.others_ns,
          s.runs,
          function(s.function),
          function(s.inner),
          function(s.phase),
          s.coroutine};
}

// The steps of the request that was added last.
void Views::request_steps(const RequestSteps& from, const RequestSums& request) {
  ReportRequestSteps& out = report_.request_steps.emplace_back();
  out.request = static_cast<uint32_t>(report_.requests.size() - 1);
  for (const RequestStep& s : from.steps()) out.steps.push_back(request_step(s, request));
  if (out.steps.empty()) return;
  out.steps.back().ns -= from.rest_ns();
  out.steps.back().others_ns -= from.rest_others_ns();
}

void Views::requests() {
  const RequestLog& log = *result_.filtered->requests;
  const auto kept = log.steps() ? log.steps()->take() : std::vector<RequestStepLog::Kept>();
  std::map<std::pair<StreamId, uint32_t>, const RequestSteps*> steps;
  for (const RequestStepLog::Kept& k : kept) steps[{k.stream, k.request}] = &k.steps;
  uint32_t id = 0;
  for (const RequestSums* r : log.requests()) {
    id++;
    if (!r->is_in(log.range())) continue;
    report_.requests.push_back(request(*r));
    report_.requests.back().id = id;
    if (log.wants(*r)) request_detail(*log.trail(), *r);
    if (auto of = steps.find({r->stream, r->number}); of != steps.end())
      request_steps(*of->second, *r);
  }
}

void Views::turns() {
  const RequestLog& log = *result_.filtered->requests;
  std::unordered_map<uint64_t, uint32_t, RandomHash> ids;
  for (const RequestSums* r : log.requests())
    ids.emplace(pair_key(r->stream, r->number), static_cast<uint32_t>(ids.size()) + 1);
  const auto id = [&](const Turn& t, RequestId number) {
    const auto found = ids.find(pair_key(t.stream, number));
    return found == ids.end() ? 0 : found->second;
  };
  for (const Turn& t : log.turns()->kept()) {
    report_.turns.push_back({.file = file_,
                             .vm = t.stream,
                             .request = id(t, t.request),
                             .start_ns = since(log.range().clamp(t.begin.tick)),
                             .ns = t.ns,
                             .entry = function(t.entry),
                             .phase = function(t.phase),
                             .delayed = t.delayed,
                             .delayed_ns = t.delayed_ns,
                             .delayed_ids = {},
                             .begun_before = t.begun_before,
                             .unfinished = t.unfinished});
    for (const RequestId r : t.delayed_list) report_.turns.back().delayed_ids.push_back(id(t, r));
  }
  for (const auto& [entry, s] : log.turns()->sums()) {
    ReportTurnSums& sums = report_.turn_sums[function(entry)];
    sums.turns += {s.count, s.ns, s.min_ns, s.max_ns, 0, s.times()};
    sums.delayed_ns += s.delayed_ns;
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
    report_.thread_list.push_back({.file = file_,
                                   .pid = process == processes.end() ? 0 : process->second.pid,
                                   .tid = key.second,
                                   .self_ns = clock_.ns(sums.self),
                                   .idle_ns = round(&ThreadSums::idle, sums),
                                   .gap_ns = round(&ThreadSums::gap, sums),
                                   .filtered_ns = round(&ThreadSums::filtered, sums),
                                   .calls = sums.calls,
                                   .vms = sums.vms.size()});
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
  std::map<ReportFunctionId, std::vector<uint64_t>> functions;
  for (const auto& [id, sparse] : from.lanes()) {
    const std::vector<uint64_t> ticks = slices_of(from, sparse);
    if (id.kind == LaneId::Kind::kThread) {
      ReportLane& lane = out.lanes.emplace_back();
      lane.thread = true;
      lane.name = "thread " + std::to_string(id.number);
      add_slices(clock_, ticks, lane.slices);
      continue;
    }
    auto& sum = functions[function(FunctionId(id.number))];
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

ReportRequest report_request(const RequestSums& from,
                             const std::function<ReportFunctionId(FunctionId)>& function) {
  ReportRequest out{.number = from.number,
                    .vm = from.stream,
                    .coroutines = from.coroutines,
                    .wall_ns = from.wall(),
                    .running_ns = from.own,
                    .wait_ns = from.waited(),
                    .others_ns = from.others(),
                    .collector_ns = from.collector,
                    .compiler_ns = from.compiler,
                    .cpu_ns = from.own - from.off_cpu,
                    .unattributed_ns = from.unattributed(),
                    .begun_before = from.begun_before,
                    .unfinished = from.unfinished,
                    .timer = from.timer,
                    .tail_call = from.tail_call,
                    .unsure = from.unsure,
                    .waits = {},
                    .phases = {},
                    .labels = from.labels};
  for (const RequestWait& w : from.waits)
    if (w.count || w.ns)
      out.waits.push_back({function(w.function), function(w.inner), w.count, w.ns});
  std::stable_sort(out.waits.begin(), out.waits.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  for (const RequestPhase& p : from.phases)
    out.phases.push_back({function(p.function), p.running_ns, p.wait_ns});
  return out;
}

void add_views(Report& report, const FileResult& result, const std::vector<ReportFunctionId>& map,
               const SymbolFinder& symbols) {
  Views views(report, result, map, symbols);
  views.functions();
  if (result.filtered->slow) views.slow();
  if (result.filtered->coroutines) views.coroutines();
  if (result.filtered->waits) views.waits();
  if (result.filtered->requests) views.requests();
  if (result.filtered->requests && result.filtered->requests->turns()) views.turns();
  if (result.filtered->threads) views.threads();
  if (result.filtered->timeline) views.timeline();
}

}  // namespace luatrace::analyze
