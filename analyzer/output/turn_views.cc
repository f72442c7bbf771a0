// SPDX-License-Identifier: MIT
// --turns: a row for each of the longest turns, and one for each function with which turns began,
// that which delayed other requests most first.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/collect/request_rules.h"
#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/report/canonical_order.h"

namespace luatrace::analyze {
namespace {

// The requests that are timers of nginx, by file and id.
using Timers = std::set<std::pair<uint32_t, uint32_t>>;

Timers timers_of(const Report& report) {
  Timers out;
  for (const ReportRequest& r : report.requests)
    if (r.timer) out.emplace(r.file, r.id);
  return out;
}

std::vector<uint32_t> delayed_timers(const ReportTurn& t, const Timers& timers) {
  std::vector<uint32_t> out;
  for (const uint32_t id : t.delayed_ids)
    if (timers.contains({t.file, id})) out.push_back(id);
  return out;
}

// "3, 7, timer 9, ... (12)": the ids that fit into a table, timers last, and the number of all.
std::string delayed_text(const ReportTurn& t, const Timers& timers) {
  constexpr size_t kShown = 3;
  if (t.delayed == 0) return "-";
  const auto is_timer = [&](uint32_t id) { return timers.contains({t.file, id}); };
  std::vector<uint32_t> ids = t.delayed_ids;
  std::stable_partition(ids.begin(), ids.end(), [&](uint32_t id) { return !is_timer(id); });
  std::string out;
  for (size_t i = 0; i < std::min(kShown, ids.size()); i++)
    out += (i ? ", " : "") + std::string(is_timer(ids[i]) ? "timer " : "") + std::to_string(ids[i]);
  return t.delayed <= kShown ? out : out + ", ... (" + format_count(t.delayed) + ')';
}

std::string json_ids(const std::vector<uint32_t>& ids) {
  std::string out = "[";
  for (const uint32_t id : ids) out += (out.size() > 1 ? ", " : "") + std::to_string(id);
  return out + ']';
}

std::string phase_of(const Report& report, const ReportTurn& t) {
  const ReportFunctionId phase = t.request ? t.phase : t.entry;
  return phase == kReportRoot ? "[no phase]" : phase_name(report.functions[phase]);
}

Row turn_row(const Report& report, const ReportTurn& t, const Timers& timers) {
  Row row{Cell::of_time(t.start_ns),
          Cell::of_time(t.ns),
          Cell::of_text(open_ends(t.begun_before, t.unfinished)),
          t.request ? Cell::of_id(t.request) : Cell{},
          Cell::of_text(phase_of(report, t)),
          Cell::of_time(t.delayed_ns),
          Cell::of_count(t.delayed),
          Cell::of_json(json_ids(t.delayed_ids)),
          Cell::of_json(json_ids(delayed_timers(t, timers))),
          Cell::of_text(delayed_text(t, timers)),
          Cell::of_json(t.unfinished ? "true" : "false"),
          Cell::of_json(t.begun_before ? "true" : "false"),
          Cell::of_id(t.vm),
          Cell::of_text(report.files[t.file].path)};
  add_function_cells(row, report.functions[t.entry]);
  return row;
}

std::vector<const ReportTurn*> sorted(const Report& report, TurnLog::By by) {
  const std::vector<uint32_t> file = file_ranks(report.files);
  const auto key = [&](const ReportTurn* t) {
    const uint64_t rank = by == TurnLog::By::kStart     ? UINT64_MAX
                          : by == TurnLog::By::kDelayed ? t->delayed_ns
                                                        : t->ns;
    return std::tuple(~rank, t->start_ns, file[t->file], uint32_t{t->vm});
  };
  std::vector<const ReportTurn*> list;
  for (const ReportTurn& t : report.turns) list.push_back(&t);
  std::stable_sort(list.begin(), list.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  return list;
}

// Of all turns, whatever they began with.
ReportWait all_turns(const Report& report) {
  ReportWait all;
  for (const auto& [entry, sums] : report.turn_sums) all += sums.turns;
  return all;
}

std::string figures(const ReportWait& all) {
  const auto wall = [&](int p) { return all.times.percentile(p, all.min_ns, all.max_ns); };
  return "wall of " + counted(all.count, "turn") + ": " + percentiles_text(wall);
}

Table longest_turns(const Report& report, const ViewOptions& options) {
  const TurnLog::By by = find_turn_order(options.sort).value_or(TurnLog::By::kWall);
  Table t;
  t.name = "turns";
  t.columns = {{"start_ns", "from"},
               {"wall_ns", "wall"},
               {"open", "", true, Column::kTextOnly},
               {"request", "request"},
               {"phase", "phase", true},
               {"delayed_ns", "delayed"},
               {"delayed", "delayed", false, Column::kDataOnly},
               {"delayed_ids", "delayed", false, Column::kDataOnly},
               {"delayed_timers", "delayed", false, Column::kDataOnly},
               {"ids", "requests delayed", true, Column::kTextOnly},
               {"unfinished", "", false, Column::kDataOnly},
               {"begun_before", "", false, Column::kDataOnly},
               {"vm", "", false, Column::kDataOnly},
               {"file", "", false, Column::kDataOnly}};
  t.columns[2].min_width = 2;
  t.columns[4].spare = 2;
  t.columns[9].spare = 3;
  t.columns[9].cut = Column::kList;
  add_function_columns(t, "began with");
  const bool by_start = by == TurnLog::By::kStart;
  mark_sorted(t, by_start ? "from" : by == TurnLog::By::kDelayed ? "delayed" : "wall", by_start);
  const ReportWait all = all_turns(report);
  std::vector<const ReportTurn*> list = sorted(report, by);
  show_vms(t, list);
  show_files(t, list);
  if (options.limit && list.size() > options.limit) list.resize(options.limit);
  t.rows.add(list.size(), [&report, list, timers = timers_of(report)](size_t i) {
    return turn_row(report, *list[i], timers);
  });
  note_left_out(t, all.count - t.rows.size());
  t.notes.push_back(all.count ? figures(all) : "no Lua ran");
  return t;
}

Table sums_by_entry(const Report& report, const ViewOptions& options) {
  const std::vector<uint32_t> name = name_ranks(report.functions);
  using Sums = std::pair<ReportFunctionId, const ReportTurnSums*>;
  std::vector<Sums> rows;
  for (const auto& [entry, sums] : report.turn_sums) rows.emplace_back(entry, &sums);
  const auto key = [&](const Sums& s) {
    return std::tuple(~s.second->delayed_ns, ~s.second->turns.total_ns, name[s.first]);
  };
  std::sort(rows.begin(), rows.end(), [&](auto& a, auto& b) { return key(a) < key(b); });
  Table t;
  t.name = "turn_entries";
  t.heading = "who delays other requests most";
  t.columns = {{"turns", "turns"}, {"wall_ns", "wall"}, {"p50_ns", "p50"},
               {"p99_ns", "p99"},  {"max_ns", "max"},   {"delayed_ns", "delayed"}};
  t.columns[2].spare = 1;
  add_function_columns(t, "began with");
  mark_sorted(t, "delayed", false);
  for (const auto& [entry, sums] : rows) {
    const ReportWait& s = sums->turns;
    const auto percentile = [&](double percent) {
      return Cell::of_time(s.times.percentile(percent, s.min_ns, s.max_ns));
    };
    Row row{Cell::of_count(s.count), Cell::of_time(s.total_ns), percentile(50),
            percentile(99),          Cell::of_time(s.max_ns),   Cell::of_time(sums->delayed_ns)};
    add_function_cells(row, report.functions[entry]);
    t.rows.push_back(std::move(row));
  }
  limit_rows(t, options.limit);
  return t;
}

}  // namespace

std::vector<Table> turn_views(const Report& report, const ViewOptions& options) {
  return {longest_turns(report, options), sums_by_entry(report, options)};
}

}  // namespace luatrace::analyze
