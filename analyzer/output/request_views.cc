// SPDX-License-Identifier: MIT
// --requests: a row for each request with its ledger. Those whose end was seen come first.
#include <algorithm>
#include <array>
#include <tuple>

#include "analyzer/collect/request_rules.h"
#include "analyzer/filter/phase.h"
#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/report/canonical_order.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

using Requests = std::vector<const ReportRequest*>;

struct NamedPart {
  std::string name;
  uint64_t count, ns, more_ns;
  bool hint;  // The name comes from a call.
};

constexpr size_t kBarWidth = 32;
constexpr const char* kOtherParts = "[others]";
constexpr const char* kNoPhase = "[no phase]";

std::string wait_name(const Report& report, const ReportRequest::Wait& w) {
  if (w.function == kReportRoot) return kOtherParts;
  const std::string name = display_name(report.functions[w.function]);
  return w.inner == kReportRoot ? name : name + " > " + display_name(report.functions[w.inner]);
}

// The function that gives the name its end.
bool is_hint(const Report& report, const ReportRequest::Wait& w) {
  return w.function != kReportRoot &&
         shows_hint(report.functions[w.inner == kReportRoot ? w.function : w.inner]);
}

std::string marked(const NamedPart& p) {
  return p.hint ? p.name + '?' : p.name;
}

// Adds the meaning of the mark if a part has it.
void explain_hints(Table& t, const std::vector<NamedPart>& parts) {
  if (std::any_of(parts.begin(), parts.end(), [](const NamedPart& p) { return p.hint; }))
    t.notes.push_back(kHintNote);
}

std::string entry_name(const Report& report, const ReportRequest& r) {
  const auto is_content = [&](ReportFunctionId function) {
    return function != kReportRoot && nginx_phase(report.functions[function]) == "content";
  };
  const ReportRequest::Phase* best = entry_phase(r.phases, is_content);
  if (!best || best->function == kReportRoot) return "-";
  return display_name(report.functions[best->function]);
}

// Parts of the same name become one, in the place of the first.
template <class Part>
void add_part(std::vector<NamedPart>& parts, std::string name, const Part& more) {
  for (NamedPart& p : parts)
    if (p.name == name) {
      p.count += more.count, p.ns += more.ns, p.more_ns += more.more_ns;
      return;
    }
  parts.push_back({std::move(name), more.count, more.ns, more.more_ns, more.hint});
}

std::vector<NamedPart> named_waits(const Report& report, const ReportRequest& r) {
  std::vector<NamedPart> parts;
  for (const auto& w : r.waits)
    add_part(parts, wait_name(report, w), NamedPart{"", w.count, w.ns, 0, is_hint(report, w)});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return parts;
}

// Without a function: beyond the limit, or in no block.
std::string phase_name(const Report& report, const ReportRequest& r, ReportFunctionId phase) {
  if (phase != kReportRoot) return phase_name(report.functions[phase]);
  return r.phases.size() > kMaxRequestParts ? kOtherParts : kNoPhase;
}

std::vector<NamedPart> named_phases(const Report& report, const ReportRequest& r) {
  std::vector<NamedPart> parts;
  for (const auto& p : r.phases)
    add_part(parts, phase_name(report, r, p.function),
             NamedPart{"", 0, p.running_ns, p.wait_ns, false});
  return parts;
}

std::string json_list(const std::vector<NamedPart>& parts, const char* count, const char* ns,
                      const char* more) {
  std::string out = "[";
  for (const NamedPart& p : parts) {
    out += (out.size() > 1 ? ", {\"name\": " : "{\"name\": ") + json_string(p.name);
    if (count) out += std::string(", \"") + count + "\": " + std::to_string(p.count);
    out += std::string(", \"") + ns + "\": " + std::to_string(p.ns);
    if (more) out += std::string(", \"") + more + "\": " + std::to_string(p.more_ns);
    out += '}';
  }
  return out + ']';
}

std::string json_labels(const ReportRequest& r) {
  std::string out = "{";
  for (const auto& [key, value] : r.labels)
    out += (out.size() > 1 ? ", " : "") + json_string(key) + ": " + json_string(value);
  return out + '}';
}

// "access 1.2 ms, content 3.4 ms + 50 ms": running and waiting.
std::string phases_text(const std::vector<NamedPart>& phases) {
  std::string out;
  for (const NamedPart& p : phases) {
    out += (out.empty() ? "" : ", ") + p.name + ' ' + format_time(p.ns);
    if (p.more_ns) out += " + " + format_time(p.more_ns);
  }
  return out;
}

constexpr int kAfterRunning = 5;  // Where the CPU time is in a row.

// Columns that not every table has.
struct MoreColumns {
  bool cpu, labels;
};

Row request_row(const Report& report, const ReportRequest& r, MoreColumns columns) {
  const std::vector<NamedPart> waits = named_waits(report, r), phases = named_phases(report, r);
  const bool waited = !waits.empty() && waits[0].ns;
  Row row = {
      Cell::of_id(r.id),
      Cell::of_time(r.start_ns),
      Cell::of_time(r.wall_ns),
      Cell::of_text(std::string(open_ends(r.begun_before, r.unfinished)) + (r.unsure ? "~" : "")),
      Cell::of_time(r.running_ns),
      Cell::of_time(r.wait_ns),
      Cell::of_time(r.others_ns),
      Cell::of_time(r.unattributed_ns),
      Cell::of_time(r.collector_ns),
      Cell::of_time(r.compiler_ns),
      Cell::of_json(json_list(waits, "count", "ns", nullptr)),
      Cell::of_json(json_list(phases, nullptr, "running_ns", "wait_ns")),
      Cell::of_count(r.coroutines),
      Cell::of_json(json_labels(r)),
      Cell::of_json(r.unfinished ? "true" : "false"),
      Cell::of_json(r.begun_before ? "true" : "false"),
      Cell::of_json(r.unsure ? "true" : "false"),
      Cell::of_json(r.timer ? "true" : "false"),
      Cell::of_id(r.vm),
      Cell::of_text(report.files[r.file].path),
      Cell::of_text(entry_name(report, r)),
      Cell::of_text(waited ? marked(waits[0]) + ' ' + format_time(waits[0].ns) : "-"),
      Cell::of_text(phases_text(phases))};
  if (columns.labels) row.insert(row.end() - 2, Cell::of_text(labels_text(r)));
  if (columns.cpu) row.insert(row.begin() + kAfterRunning, Cell::of_time(r.cpu_ns));
  return row;
}

void add_columns(Table& t, const std::string& sort, MoreColumns more) {
  t.columns = {{"id", "id"},
               {"start_ns", "from"},
               {"wall_ns", "wall"},
               {"open", "", true, Column::kTextOnly},
               {"running_ns", "running"},
               {"wait_ns", "waits"},
               {"others_ns", "others"},
               {"unattributed_ns", "unattributed"},
               {"collector_ns", "collector"},
               {"compiler_ns", "compiler"}};
  add_data_columns(t, {"waits", "phases"});
  t.columns.push_back({"coroutines", "coroutines"});
  add_data_columns(t, {"labels", "unfinished", "begun_before", "unsure", "timer", "vm", "file"});
  t.columns.push_back({"entry", "entry", true});
  if (more.labels) t.columns.push_back({"label_text", "labels", true, Column::kTextOnly});
  t.columns.push_back({"longest", "longest wait", true, Column::kTextOnly});
  t.columns.push_back({"parts", "phases (running + waits)", true, Column::kTextOnly});
  if (more.cpu) t.columns.insert(t.columns.begin() + kAfterRunning, Column{"cpu_ns", "cpu"});
  mark_sorted(t, sort, sort == "from");
  for (Column& c : t.columns) {
    if (c.key == "open") c.min_width = 2;
    if (c.key == "longest") c.cut = Column::kAmount;
    if (c.key == "parts") c.cut = Column::kList;
    if (c.key == "coroutines") c.spare = 3;
    if (c.key == "collector_ns" || c.key == "compiler_ns") c.spare = 3;
    if (c.key == "start_ns" || c.key == "parts") c.spare = 2;
    if (c.key == "entry") c.min_width = 16;
    if (c.key == "unattributed_ns" || c.key == "label_text") c.spare = 1;
  }
}

// "wall of 1,234 requests: p50 1.2 ms, p90 ..., max ...": of those seen from beginning to end.
std::string figures(const Requests& requests) {
  std::vector<uint64_t> walls;
  size_t timers = 0;
  for (const ReportRequest* r : requests)
    if (r->timer)
      timers++;
    else if (!r->unfinished && !r->begun_before)
      walls.push_back(r->wall_ns);
  std::sort(walls.begin(), walls.end());
  const size_t rest = requests.size() - walls.size() - timers;
  std::string out;
  const auto wall = [&](size_t percent) { return walls[(walls.size() * percent + 99) / 100 - 1]; };
  if (!walls.empty())
    out = "wall of " + counted(walls.size(), "whole request") + ": " + percentiles_text(wall);
  if (rest > 0)
    out += (out.empty() ? "" : "; the other ") + format_count(rest) +
           " began before the recording (<) or did not end in it (>)";
  if (timers > 0)
    out += (out.empty() ? "" : "; not in these figures: ") + counted(timers, "timer") +
           ", listed last";
  return out;
}

// Whether the longest wait of a row has the mark. Names are made only where one of them may.
bool names_a_hint(const Report& report, const ReportRequest& r) {
  const auto hint = [&](const ReportRequest::Wait& w) { return is_hint(report, w); };
  if (std::none_of(r.waits.begin(), r.waits.end(), hint)) return false;
  const std::vector<NamedPart> waits = named_waits(report, r);
  return waits[0].ns && waits[0].hint;
}

struct SortKey {
  const char* name;
  uint64_t ReportRequest::*member;
};
constexpr SortKey kSortKeys[] = {{"wall", &ReportRequest::wall_ns},
                                 {"running", &ReportRequest::running_ns},
                                 {"cpu", &ReportRequest::cpu_ns},
                                 {"waits", &ReportRequest::wait_ns},
                                 {"others", &ReportRequest::others_ns},
                                 {"unattributed", &ReportRequest::unattributed_ns},
                                 {"collector", &ReportRequest::collector_ns},
                                 {"compiler", &ReportRequest::compiler_ns}};

// The requests to show: the greatest first, by id if `sort` is none of their figures.
Requests sorted(const Report& report, const std::string& sort, Requests list) {
  const std::vector<uint32_t> file = file_ranks(report.files);
  const auto rank = [&](const ReportRequest& r) -> uint64_t {
    if (sort == "start") return 0;
    if (sort == "coroutines") return r.coroutines;
    for (const SortKey& key : kSortKeys)
      if (sort == key.name) return r.*key.member;
    return r.wall_ns;
  };
  const auto key = [&](const ReportRequest* r) {
    return std::tuple(r->timer && sort != "start", r->unfinished, ~rank(*r), file[r->file], r->id);
  };
  std::sort(list.begin(), list.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  return list;
}

// -- One request --

// The request's time from left to right, and this step of it.
std::string step_bar(const ReportRequestStep& step, uint64_t wall) {
  const auto column = [&](uint64_t ns) {
    const double share = wall ? static_cast<double>(ns) / static_cast<double>(wall) : 0;
    return static_cast<size_t>(std::min(share, 1.0) * kBarWidth);
  };
  const size_t from = std::min(column(step.at_ns), kBarWidth - 1);
  const size_t to = std::max(from + 1, column(step.at_ns + step.ns));
  std::string out(from, ' ');
  for (size_t i = from; i < to; i++) out += step.runs ? "█" : "░";
  return out;
}

ReportRequest::Wait wait_of(const ReportRequestStep& s) {
  return {s.function, s.inner};
}

std::string step_name(const Report& report, const ReportRequest& r, const ReportRequestStep& s) {
  if (s.runs) return phase_name(report, r, s.function);
  if (s.function == kReportRoot) return "-";
  return marked({wait_name(report, wait_of(s)), 0, 0, 0, is_hint(report, wait_of(s))});
}

const char* step_kind(const ReportRequestStep& s) {
  return s.runs ? "runs" : s.function == kReportRoot ? "nothing" : "waits";
}

Row step_row(const Report& report, const ReportRequestDetail& detail, const ReportRequestStep& s) {
  return {Cell::of_time(s.at_ns),
          Cell::of_time(s.ns),
          Cell::of_time(s.others_ns),
          Cell::of_text(step_kind(s)),
          Cell::of_text(step_name(report, detail.request, s)),
          Cell::of_text(step_bar(s, detail.request.wall_ns))};
}

// The longest steps, in order of time.
std::vector<const ReportRequestStep*> steps_to_show(const ReportRequestDetail& d, size_t limit) {
  std::vector<const ReportRequestStep*> steps;
  for (const ReportRequestStep& s : d.steps) steps.push_back(&s);
  if (limit == 0 || steps.size() <= limit) return steps;
  std::stable_sort(steps.begin(), steps.end(), [](auto* a, auto* b) { return a->ns > b->ns; });
  steps.resize(limit);
  std::sort(steps.begin(), steps.end(), [](auto* a, auto* b) { return a->at_ns < b->at_ns; });
  return steps;
}

Table steps_table(const Report& report, const ReportRequestDetail& detail, size_t limit) {
  Table t;
  t.name = "request_steps";
  t.heading = "what it did when";
  t.columns = {{"at_ns", "at"},
               {"length_ns", "length"},
               {"others_ns", "others"},
               {"kind", "", true},
               {"name", "phase, or where it waits", true},
               {"bar", "", true, Column::kTextOnly}};
  t.columns[2].spare = 1;
  t.columns[5].spare = 3;
  t.columns[5].min_width = kBarWidth;
  const auto steps = steps_to_show(detail, limit);
  for (const ReportRequestStep* s : steps) t.rows.push_back(step_row(report, detail, *s));
  note_left_out(t, detail.steps.size() - steps.size(), " shorter steps");
  return t;
}

std::string request_heading(const Report& report, const ReportRequest& r) {
  return "request " + std::to_string(r.id) + " at " +
         format_moment(r.start_ns, report.files[r.file].start_real_ns) + ": " + ledger_text(r) +
         (report.cpu.known() ? "; of running, CPU " + format_time(r.cpu_ns) : "") +
         (r.begun_before ? "; it began before" : "") +
         (r.unfinished ? "; its end was not seen" : "");
}

// Its phases, and below them what it waited in.
Table parts_table(const Report& report, const ReportRequest& r) {
  Table t;
  t.name = "request_parts";
  t.heading = request_heading(report, r);
  t.columns = {{"kind", "", true},
               {"name", "phase or wait", true},
               {"count", "count"},
               {"running_ns", "running"},
               {"wait_ns", "waits"}};
  for (const NamedPart& p : named_phases(report, r))
    t.rows.push_back({Cell::of_text("phase"),
                      Cell::of_text(p.name),
                      {},
                      Cell::of_time(p.ns),
                      Cell::of_time(p.more_ns)});
  for (const NamedPart& w : named_waits(report, r))
    t.rows.push_back({Cell::of_text("wait"),
                      Cell::of_text(marked(w)),
                      Cell::of_count(w.count),
                      {},
                      Cell::of_time(w.ns)});
  explain_hints(t, named_waits(report, r));
  return t;
}

}  // namespace

std::vector<Table> request_views(const Report& report, const ViewOptions& options) {
  if (!report.request_detail) return {};
  const ReportRequestDetail& detail = *report.request_detail;
  return {parts_table(report, detail.request), steps_table(report, detail, options.tree_limit()),
          request_tree_view(report, detail.nodes, options)};
}

bool is_request_order(const std::string& sort) {
  return sort == "start" || sort == "coroutines" ||
         std::any_of(std::begin(kSortKeys), std::end(kSortKeys),
                     [&](const SortKey& key) { return sort == key.name; });
}

Table requests_view(const Report& report, const ViewOptions& options) {
  Requests list, all;
  for (const ReportRequest& r : report.requests) {
    all.push_back(&r);
    if (r.wall_ns >= options.slow_requests_ns) list.push_back(&r);
  }
  const std::string sort = options.sort_given ? options.sort : "wall";
  Table t;
  t.name = "requests";
  const bool labels =
      std::any_of(list.begin(), list.end(), [](auto* r) { return !r->labels.empty(); });
  const MoreColumns more{report.cpu.known(), labels};
  add_columns(t, sort == "start" ? "from" : sort, more);
  list = sorted(report, sort, std::move(list));
  show_vms(t, list);
  show_files(t, list);
  const size_t count = list.size();
  if (all.empty())  // A name that no function has is an error, as elsewhere.
    for (const std::string& by : options.request_by)
      if (!is_special(by)) chosen_functions(report, by);
  t.rows.add(count,
             [&report, list, more](size_t i) { return request_row(report, *list[i], more); });
  limit_rows(t, options.limit);
  if (all.empty())
    t.notes.push_back(options.request_by.empty() ? "no request is known: see --request-by"
                      : options.request_by[0] == kByCoroutines
                          ? "the host resumed no coroutine while no Lua ran"
                          : "no call of the functions of --request-by was seen");
  else if (count == 0)
    t.notes.push_back("no request took that long");
  if (!all.empty()) t.notes.push_back(figures(all));
  const size_t shown = options.limit ? std::min(options.limit, count) : count;
  if (std::any_of(list.begin(), list.begin() + static_cast<ptrdiff_t>(shown),
                  [&](const ReportRequest* r) { return names_a_hint(report, *r); }))
    t.notes.push_back(kHintNote);
  const auto tails = std::count_if(list.begin(), list.end(), [](auto* r) { return r->tail_call; });
  if (tails)
    t.notes.push_back(counted(static_cast<uint64_t>(tails), "request") +
                      " ended with a tail call (return f()): what it called so is not in it; name "
                      "that function, too (--request-by)");
  if (std::any_of(list.begin(), list.begin() + static_cast<ptrdiff_t>(shown),
                  [](const auto* r) { return r->unsure; }))
    t.notes.push_back(
        "~: that it begins or ends there is not certain: it follows only from a pause of the host, "
        "or its client has gone");
  return t;
}

}  // namespace luatrace::analyze
