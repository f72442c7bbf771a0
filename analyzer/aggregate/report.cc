// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/report.h"

#include <algorithm>
#include <set>

#include "analyzer/aggregate/tree_times.h"

namespace luatrace {
namespace {

// Adds one file's functions and tree; functions meet by identity.
class Merger {
 public:
  Merger(Report& report, const Streams<Profile>& streams, const Profile& profile,
         const SymbolFinder& symbols)
      : report_(report), streams_(streams), profile_(profile), symbols_(symbols) {
    for (uint32_t i = 2; i < report.functions.size(); i++) index_[key(report.functions[i])] = i;
  }

  void functions();
  void tree();

 private:
  static std::string key(const ReportFunction& f);
  uint32_t function(const Function& f);
  void add_times(ReportFunction& f, const FunctionTicks& ticks, const CallStats& stats);

  Report& report_;
  const Streams<Profile>& streams_;
  const Profile& profile_;
  const SymbolFinder& symbols_;
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<uint32_t> map_;  // From function of the file to function of the report.
};

std::string Merger::key(const ReportFunction& f) {
  std::string key = f.kind + '\0' + f.chunk + '\0' + std::to_string(f.line);
  return f.kind == "lua" ? key : key + '\0' + f.name;
}

ReportFunction describe(const Function& f, const SymbolFinder& symbols) {
  ReportFunction out;
  out.name = f.name;
  out.chunk = f.chunk;
  out.line = f.firstline;
  switch (f.type) {
    case LT_FUNC_LUA:
      out.kind = "lua";
      return out;
    case LT_FUNC_FF:
      out.kind = "ff";
      break;
    case LT_FUNC_C:
      out.kind = std::string("c");
      break;
    default:
      out.kind = "unknown";
      out.name = std::to_string(f.id).insert(0, "function #");
      return out;
  }
  if (!f.name.empty() && !f.hint) return out;
  Symbol symbol = symbols(f);  // Surer than a name that came from the call.
  if (out.chunk.empty()) out.chunk = symbol.file;
  if (!symbol.name.empty()) out.name = symbol.name;
  return out;
}

uint32_t Merger::function(const Function& f) {
  ReportFunction described = describe(f, symbols_);
  auto next = static_cast<uint32_t>(report_.functions.size());
  auto [it, fresh] = index_.emplace(key(described), next);
  if (fresh) report_.functions.push_back(described);
  ReportFunction& known = report_.functions[it->second];
  if (known.name.empty()) known.name = described.name;
  return it->second;
}

void Merger::add_times(ReportFunction& f, const FunctionTicks& ticks, const CallStats& stats) {
  const Clock& clock = streams_.clock();
  f.calls += ticks.calls;
  f.self_ns += clock.ns(ticks.self);
  f.running_ns += clock.ns(ticks.running);
  f.wall_ns += clock.ns(ticks.wall);
  if (stats.complete == 0) return;
  uint64_t least = clock.ns(stats.min);
  f.min_ns = f.complete ? std::min(f.min_ns, least) : least;
  f.max_ns = std::max(f.max_ns, clock.ns(stats.max));
  f.sum_ns += clock.ns(stats.sum);
  f.complete += stats.complete;
}

void Merger::functions() {
  const FunctionTable& table = streams_.functions();
  std::vector<FunctionTicks> ticks = function_ticks(profile_, table.size());
  map_.resize(table.size());
  map_[kUnknownFunction] = 1;
  for (uint32_t i = kFirstFunction; i < table.size(); i++) {
    map_[i] = function(table[i]);
    add_times(report_.functions[map_[i]], ticks[i], profile_.stats(i));
    report_.self_ns += streams_.clock().ns(ticks[i].self);
  }
  const Clock& clock = streams_.clock();
  report_.idle_ns += clock.ns(ticks[kNoFunction].self);
  report_.gap_ns += clock.ns(ticks[kUnknownFunction].self);
}

// Nodes of coroutines become one with the node of the call that resumed them.
void Merger::tree() {
  const CallTree& from = profile_.tree();
  std::vector<uint32_t> place(from.size());
  const Clock& clock = streams_.clock();
  for (uint32_t i = 0; i < from.size(); i++) {
    const CallNode& n = from[i];
    bool own = i != 0 && n.function != kCoroutineFunction;
    uint32_t above = i ? place[n.parent] : 0;
    place[i] = own ? report_.tree.enter(above, map_[n.function]) : above;
    CallNode& to = report_.tree[place[i]];
    to.calls += n.calls;
    if (to.function != 1) to.self += clock.ns(n.self);  // Else it is part of the gap.
  }
}

void add_sums(Report& report, const Streams<Profile>& streams) {
  const Clock& clock = streams.clock();
  uint64_t first = UINT64_MAX, last = 0;
  std::set<std::pair<uint32_t, uint32_t>> threads;
  for (const auto& [number, machine] : streams.machines()) {
    auto info = streams.streams().find(number);
    uint32_t process = info == streams.streams().end() ? 0 : info->second.process;
    for (uint32_t tid : machine->threads()) threads.emplace(process, tid);
    if (machine->threads().empty()) threads.emplace(process, UINT32_MAX - number);
    report.traced_ns += clock.ns(machine->traced());
    report.gap_ns += clock.ns(machine->gap());
    report.coroutines += machine->coroutines();
    if (machine->traced() == 0) continue;
    first = std::min(first, machine->first_tick());
    last = std::max(last, machine->last_tick());
  }
  report.threads += threads.size();
  if (last > first) report.duration_ns += clock.ns(last - first);
}

double cost_of(const Streams<Profile>& streams, uint64_t events) {
  double sum = 0;
  for (const auto& [number, info] : streams.streams())
    sum += static_cast<double>(info.event_cost_ps) / 1000;
  auto n = static_cast<double>(streams.streams().size());
  return n > 0 ? sum / n * static_cast<double>(events) : 0;
}

}  // namespace

Report::Report() : functions(2) {
  functions[0].kind = "root";
  functions[1].kind = "gap";
  functions[1].name = "[unknown callers]";
}

void add_to_report(Report& report, const std::string& path, const Streams<Profile>& streams,
                   const Profile& profile, const Trust& trust, uint64_t bytes,
                   const SymbolFinder& symbols) {
  ReportFile file;
  file.path = path;
  for (const auto& [number, info] : streams.processes()) file.processes.push_back(info);
  for (const auto& [number, info] : streams.streams()) file.streams.push_back(info);
  file.notes = streams.notes();
  file.ended = streams.end() != nullptr;
  if (file.ended) file.end = *streams.end();
  file.bytes = bytes;
  report.files.push_back(std::move(file));
  report.bytes += bytes;
  report.trust += trust;
  if (!report.start_real_ns) report.start_real_ns = streams.clock().start_real_ns;
  report.cost_ns += cost_of(streams, trust.events);
  add_sums(report, streams);
  Merger merger(report, streams, profile, symbols);
  merger.functions();
  merger.tree();
}

std::vector<uint64_t> inclusive_ns(const CallTree& tree) {
  std::vector<uint64_t> sum(tree.size());
  for (auto i = static_cast<uint32_t>(tree.size()); i-- > 1;) {
    sum[i] += tree[i].self;
    sum[tree[i].parent] += sum[i];
  }
  return sum;  // The root's: all functions; its own self is idle time and not in it.
}

}  // namespace luatrace
