// SPDX-License-Identifier: MIT
// The views of call histograms, coroutines and threads.
#include <algorithm>
#include <tuple>

#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/report/canonical_order.h"
#include "base/saturate.h"

namespace luatrace::analyze {
namespace {

std::string repeat(const char* text, size_t n) {
  std::string out;
  for (; n > 0; n--) out += text;
  return out;
}

// A row of the histogram: one power of two, in ns.
struct PowerRow {
  uint64_t from = 0, to = 0, count = 0;
};

std::vector<PowerRow> powers(const Distribution& times) {
  std::vector<PowerRow> rows;
  for (const auto& b : times.buckets) {
    uint64_t from = b.bucket < kSubBuckets ? 0 : bucket_begin(b.bucket / kSubBuckets * kSubBuckets);
    uint64_t to = from ? (from >> 63 ? UINT64_MAX : 2 * from) : kSubBuckets;
    while (!rows.empty() && rows.back().to < from)  // Empty rows in between.
      rows.push_back({rows.back().to, 2 * rows.back().to, 0});
    if (rows.empty() || rows.back().from != from) rows.push_back({from, to, 0});
    rows.back().count += b.count;
  }
  return rows;
}

std::string function_or(const Report& report, ReportFunctionId index, const char* none) {
  return index != kReportRoot ? full_name(report.functions[index]) : none;
}

// Where the coroutine was suspended longest.
std::string longest_in(const Report& report, ReportFunctionId function, uint64_t ns) {
  return function_or(report, function, ns ? "before its first run" : "-");
}

const char* how_it_ended(Gone how) {
  static const char* const kNames[] = {"returned", "failed", "collected", "open", "lost"};
  return kNames[static_cast<int>(how)];
}

// Sums the calls of the chosen functions; counts the functions that had any in `functions`.
ReportFunction sum_of(const Report& report, const std::vector<bool>& chosen, size_t& functions) {
  ReportFunction sum;
  for (size_t i = kReportUnknown; i < chosen.size(); i++) {
    const ReportFunction& f = report.functions[i];
    if (!chosen[i] || !f.all_complete()) continue;
    functions++;
    add_figures(sum, f);
  }
  return sum;
}

void add_bars(Table& t, const std::string& fn, const ReportFunction& sum) {
  constexpr double kLongest = 50;
  const auto rows = powers(sum.times);
  uint64_t greatest = 1;
  for (const auto& r : rows) greatest = std::max(greatest, r.count);
  for (const auto& r : rows) {
    const auto count = static_cast<double>(r.count);
    const auto bar = static_cast<size_t>(kLongest * count / static_cast<double>(greatest) + 0.5);
    t.rows.push_back({Cell::of_text(fn), Cell::of_time(r.from), Cell::of_time(r.to),
                      Cell::of_count(r.count),
                      Cell::of_percent(100 * count / static_cast<double>(sum.complete)),
                      Cell::of_text(repeat("█", r.count ? std::max<size_t>(bar, 1) : 0))});
  }
}

// Of calls inside segments only the average is known.
std::string figures_line(const ReportFunction& sum, const Report& report) {
  if (!sum.knows_times())
    return "calls " + format_count(sum.all_complete()) + ", avg " + format_time(sum.average_ns()) +
           "; of these " + format_count(sum.segments->inside) +
           " are inside compiled segments: their times are not known, and not in the histogram";
  std::string line = "calls " + format_count(sum.complete) + ", min " + format_time(sum.min_ns) +
                     ", avg " + format_time(sum.average_ns()) + ", max " + format_time(sum.max_ns);
  for (const char* name : {"stddev", "p50", "p90", "p99", "p99.9"}) {
    auto value = value_of(*find_field(name), sum, report.self_ns).value_or(0);
    line += std::string(", ") + name + ' ' + format_time(saturate_u64(value));
  }
  return line;
}

}  // namespace

Table hist_view(const Report& report, const ViewOptions&, const std::string& fn) {
  size_t functions = 0;
  const ReportFunction sum = sum_of(report, chosen_functions(report, fn), functions);
  Table t;
  t.name = "hist";
  t.heading = "inclusive time of the calls of " + fn;
  if (functions > 1) t.heading += " (" + std::to_string(functions) + " functions)";
  t.columns = {{"of", "of", true, Column::kDataOnly},
               {"from_ns", "from"},
               {"to_ns", "to"},
               {"calls", "calls"},
               {"share", "%"},
               {"bar", "", true, Column::kTextOnly, true}};
  add_bars(t, fn, sum);
  t.notes.push_back(sum.all_complete() ? figures_line(sum, report)
                                       : "no call was seen from beginning to end");
  return t;
}

namespace {

// If not all columns fit, keeps those that identify the coroutine and its times.
void mark_spare_columns(Table& t) {
  constexpr size_t kMinWidth = 10;  // Three such columns fit beside the figures in 80 columns.
  static const char* const kSpare[] = {"vm", "begin_ns", "end", "longest_suspension_ns",
                                       "longest_suspension_at_ns"};
  for (Column& c : t.columns) {
    c.spare = std::find(std::begin(kSpare), std::end(kSpare), c.key) != std::end(kSpare);
    if (c.left && !c.spare) c.min_width = kMinWidth;
  }
}

// Data has the members under their earlier names, too, until version 0.3.
void add_former_keys(Table& t) {
  static const std::pair<const char*, const char*> kKeys[] = {
      {"vm", "state"},
      {"vms", "states"},
      {"longest_suspension_ns", "longest_yield_ns"},
      {"longest_suspension_at_ns", "longest_yield_at_ns"},
      {"longest_suspension_in", "longest_yield_in"}};
  for (Column& c : t.columns)
    for (const auto& [key, former] : kKeys)
      if (c.key == key) c.former = former;
}

Table creation_sites_view(const Report& report, const ViewOptions& options) {
  Table t;
  t.name = "creation_sites";
  t.former = "coroutine_births";
  t.columns = {{"coroutines", "coroutines"},         {"running_ns", "running"},
               {"suspended_ns", "suspended"},        {"resumes", "resumes"},
               {"longest_suspension_ns", "longest"}, {"body", "body", true},
               {"created_in", "created in", true},   {"longest_suspension_in", "longest in", true}};
  add_former_keys(t);
  mark_spare_columns(t);
  auto sites = report.creation_sites;
  const std::vector<uint32_t> name = name_ranks(report.functions);
  auto key = [&](const ReportCreationSite& p) {
    return std::tuple(~p.running_ns, name[p.body], name[p.created_in]);
  };
  std::sort(sites.begin(), sites.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (const ReportCreationSite& p : sites)
    t.rows.push_back({Cell::of_count(p.count), Cell::of_time(p.running_ns),
                      Cell::of_time(p.suspended_ns), Cell::of_count(p.resumes),
                      Cell::of_time(p.longest_ns), Cell::of_text(function_or(report, p.body, "?")),
                      Cell::of_text(function_or(report, p.created_in, "?")),
                      Cell::of_text(longest_in(report, p.longest_in, p.longest_ns))});
  limit_rows(t, options.limit);
  return t;
}

std::vector<ReportCoroutine> sorted_coroutines(const Report& report, const ViewOptions& options) {
  auto list = report.coroutine_list;
  const std::vector<uint32_t> file = file_ranks(report.files);
  const auto by = coroutine_order(options.sort_given ? options.sort : "");
  auto rank = [&](const ReportCoroutine& c) {
    return by == CoroutineLog::By::kRunning   ? c.running_ns
           : by == CoroutineLog::By::kLife    ? c.life_ns
           : by == CoroutineLog::By::kResumes ? c.resumes
                                              : c.suspended_ns;
  };
  auto key = [&](const ReportCoroutine& c) {
    return std::tuple(~rank(c), file[c.file], c.vm, c.id, c.begin_ns);
  };
  std::sort(list.begin(), list.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return list;
}

std::vector<Cell> coroutine_row(const Report& report, const ReportCoroutine& c) {
  return {Cell::of_count(c.vm),
          Cell::of_count(c.id),
          Cell::of_time(c.begin_ns),
          Cell::of_time(c.life_ns),
          Cell::of_time(c.running_ns),
          Cell::of_time(c.suspended_ns),
          Cell::of_count(c.resumes),
          Cell::of_text(how_it_ended(c.how)),
          Cell::of_time(c.longest_ns),
          Cell::of_time(c.longest_at_ns),
          Cell::of_text(longest_in(report, c.longest_in, c.longest_ns)),
          Cell::of_text(function_or(report, c.body, "?")),
          Cell::of_text(function_or(report, c.created_in, "?")),
          Cell::of_text("coroutine " + std::to_string(c.vm) + ':' + std::to_string(c.id)),
          Cell::of_count(c.calls),
          Cell::of_time(c.running_ns),
          Cell::of_time(c.self_ns),
          Cell::of_time(c.running_ns + c.suspended_ns)};
}

}  // namespace

std::vector<Table> coroutine_views(const Report& report, const ViewOptions& options) {
  Table t;
  t.name = "coroutines";
  t.columns = {{"vm", "VM"},
               {"coroutine", "id"},
               {"begin_ns", "from"},
               {"life_ns", "life"},
               {"running_ns", "running"},
               {"suspended_ns", "suspended"},
               {"resumes", "resumes"},
               {"end", "end", true},
               {"longest_suspension_ns", "longest"},
               {"longest_suspension_at_ns", "at"},
               {"longest_suspension_in", "longest in", true},
               {"body", "body", true},
               {"created_in", "created in", true},
               // As functions and groups have them.
               {"name", "", true, Column::kDataOnly},
               {"calls", "", false, Column::kDataOnly},
               {"inclusive_ns", "", false, Column::kDataOnly},
               {"self_ns", "", false, Column::kDataOnly},
               {"wall_ns", "", false, Column::kDataOnly}};
  add_former_keys(t);
  mark_spare_columns(t);
  auto list = sorted_coroutines(report, options);
  const size_t count = list.size();
  t.rows.add(count, [&report, list = std::move(list)](size_t i) {
    return coroutine_row(report, list[i]);
  });
  if (options.limit) t.rows.limit(options.limit);
  uint64_t all = 0;  // The log keeps only up to the limit.
  for (const auto& p : report.creation_sites) all += p.count;
  note_left_out(t, all - std::min<uint64_t>(all, t.rows.size()));
  return {creation_sites_view(report, options), t};
}

Table thread_view(const Report& report, const ViewOptions& options) {
  Table t;
  t.name = "threads";
  t.columns = {{"pid", "pid"},      {"tid", "thread"},     {"self_ns", "in calls"},
               {"idle_ns", "idle"}, {"gap_ns", "unknown"}, {"filtered_ns", "filtered"},
               {"calls", "count"},  {"vms", "VMs"}};
  add_former_keys(t);
  auto list = report.thread_list;
  const std::vector<uint32_t> file = file_ranks(report.files);
  auto key = [&](const ReportThread& r) {
    return std::tuple(~r.self_ns, file[r.file], r.pid, r.tid);
  };
  std::sort(list.begin(), list.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (const ReportThread& r : list)
    t.rows.push_back({Cell::of_text(std::to_string(r.pid)), Cell::of_text(std::to_string(r.tid)),
                      Cell::of_time(r.self_ns), Cell::of_time(r.idle_ns), Cell::of_time(r.gap_ns),
                      Cell::of_time(r.filtered_ns), Cell::of_count(r.calls),
                      Cell::of_count(r.vms)});
  limit_rows(t, options.limit);
  return t;
}

}  // namespace luatrace::analyze
