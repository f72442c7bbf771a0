// SPDX-License-Identifier: MIT
// Views of what happened when: histograms of calls, coroutines, threads, the timeline.
#include <algorithm>

#include "analyzer/decode/escape.h"
#include "analyzer/render/format.h"
#include "analyzer/render/views.h"

namespace luatrace {
namespace {

std::string repeat(const char* text, size_t n) {
  std::string out;
  for (; n > 0; n--) out += text;
  return out;
}

// One row for each power of two.
struct PowerRow {
  uint64_t from = 0, to = 0, count = 0;
};

std::vector<PowerRow> powers(const Distribution& times) {
  std::vector<PowerRow> rows;
  for (const auto& b : times.buckets) {
    uint64_t from = b.bucket < kSubBuckets ? 0 : bucket_begin(b.bucket / kSubBuckets * kSubBuckets);
    uint64_t to = from ? (from >> 63 ? UINT64_MAX : 2 * from) : kSubBuckets;
    while (!rows.empty() && rows.back().to < from)  // Empty ones between the others.
      rows.push_back({rows.back().to, 2 * rows.back().to, 0});
    if (rows.empty() || rows.back().from != from) rows.push_back({from, to, 0});
    rows.back().count += b.count;
  }
  return rows;
}

std::string function_or(const Report& report, uint32_t index, const char* none) {
  return index ? full_name(report.functions[index]) : none;
}

const char* how_it_ended(Gone how) {
  static const char* const kNames[] = {"returned", "failed", "collected", "open"};
  return kNames[static_cast<int>(how)];
}

}  // namespace

Table hist_view(const Report& report, const ViewOptions&, const std::string& fn) {
  auto chosen = chosen_functions(report, fn);
  ReportFunction sum;
  size_t functions = 0;
  for (size_t i = 1; i < chosen.size(); i++) {
    const ReportFunction& f = report.functions[i];
    if (!chosen[i] || !f.complete) continue;
    functions++;
    sum.min_ns = sum.complete ? std::min(sum.min_ns, f.min_ns) : f.min_ns;
    sum.max_ns = std::max(sum.max_ns, f.max_ns);
    sum.sum_ns += f.sum_ns;
    sum.complete += f.complete;
    sum.times.add(f.times);
  }
  Table t;
  t.name = "hist";
  t.heading = "running time of the calls of " + fn;
  if (functions > 1) t.heading += " (" + std::to_string(functions) + " functions)";
  t.columns = {{"of", "of", true, Column::kDataOnly},
               {"from_ns", "from"},
               {"to_ns", "to"},
               {"calls", "calls"},
               {"share", "%"},
               {"bar", "", true, Column::kTextOnly}};
  auto rows = powers(sum.times);
  uint64_t most = 1;
  for (const auto& r : rows) most = std::max(most, r.count);
  for (const auto& r : rows) {
    auto share = 100 * static_cast<double>(r.count) / static_cast<double>(sum.complete);
    auto bar =
        static_cast<size_t>(50 * static_cast<double>(r.count) / static_cast<double>(most) + 0.5);
    t.rows.push_back({Cell::of_text(fn), Cell::of_time(r.from), Cell::of_time(r.to),
                      Cell::of_count(r.count), Cell::of_percent(share),
                      Cell::of_text(repeat("█", r.count ? std::max<size_t>(bar, 1) : 0))});
  }
  if (!sum.complete) {
    t.notes.push_back("no call was seen from beginning to end");
    return t;
  }
  std::string line = "calls " + format_count(sum.complete) + ", min " + format_time(sum.min_ns) +
                     ", avg " + format_time(sum.average_ns()) + ", max " + format_time(sum.max_ns);
  for (const char* name : {"stddev", "p50", "p90", "p99", "p99.9"}) {
    auto value = value_of(*find_field(name), sum, report).value_or(0);
    line += std::string(", ") + name + ' ' + format_time(static_cast<uint64_t>(value));
  }
  t.notes.push_back(line);
  return t;
}

std::vector<Table> coroutine_views(const Report& report, const ViewOptions& options) {
  Table births;
  births.name = "coroutine_births";
  births.columns = {
      {"coroutines", "coroutines"},       {"running_ns", "running"},
      {"suspended_ns", "suspended"},      {"resumes", "resumes"},
      {"longest_yield_ns", "longest"},    {"body", "body", true},
      {"created_in", "created in", true}, {"longest_yield_in", "longest yield in", true}};
  auto places = report.birth_places;
  std::stable_sort(places.begin(), places.end(),
                   [](auto& a, auto& b) { return a.running_ns > b.running_ns; });
  for (const ReportBirthPlace& p : places)
    births.rows.push_back(
        {Cell::of_count(p.count), Cell::of_time(p.running_ns), Cell::of_time(p.suspended_ns),
         Cell::of_count(p.resumes), Cell::of_time(p.longest_ns),
         Cell::of_text(function_or(report, p.body, "?")),
         Cell::of_text(function_or(report, p.born_in, "?")),
         Cell::of_text(function_or(report, p.longest_in, "before its first run"))});
  limit_rows(births, options.limit);

  Table lives;
  lives.name = "coroutines";
  lives.columns = {{"state", "state"},
                   {"coroutine", "id"},
                   {"begin_ns", "from"},
                   {"life_ns", "life"},
                   {"running_ns", "running"},
                   {"suspended_ns", "suspended"},
                   {"resumes", "resumes"},
                   {"end", "end", true},
                   {"longest_yield_ns", "longest"},
                   {"longest_yield_at_ns", "at"},
                   {"longest_yield_in", "longest yield in", true},
                   {"body", "body", true},
                   {"created_in", "created in", true}};
  auto list = report.lives;
  auto by = coroutine_order(options.sort_given ? options.sort : "");
  auto rank = [&](const ReportCoroutine& c) {
    return by == CoroutineLog::By::kRunning   ? c.running_ns
           : by == CoroutineLog::By::kLife    ? c.life_ns
           : by == CoroutineLog::By::kResumes ? c.resumes
                                              : c.suspended_ns;
  };
  std::stable_sort(list.begin(), list.end(), [&](auto& a, auto& b) {
    return rank(a) != rank(b) ? rank(a) > rank(b)
                              : std::tie(a.file, a.state, a.id) < std::tie(b.file, b.state, b.id);
  });
  uint64_t all = 0;
  for (const auto& p : places) all += p.count;
  for (const ReportCoroutine& c : list)
    lives.rows.push_back({Cell::of_count(c.state), Cell::of_count(c.id), Cell::of_time(c.begin_ns),
                          Cell::of_time(c.life_ns), Cell::of_time(c.running_ns),
                          Cell::of_time(c.suspended_ns), Cell::of_count(c.resumes),
                          Cell::of_text(how_it_ended(c.how)), Cell::of_time(c.longest_ns),
                          Cell::of_time(c.longest_at_ns),
                          Cell::of_text(function_or(report, c.longest_in, "before its first run")),
                          Cell::of_text(function_or(report, c.body, "?")),
                          Cell::of_text(function_or(report, c.born_in, "?"))});
  if (options.limit && lives.rows.size() > options.limit) lives.rows.resize(options.limit);
  if (lives.rows.size() < all)
    lives.notes.push_back(format_count(all - lives.rows.size()) + " more: --limit 0 shows all");
  return {births, lives};
}

Table thread_view(const Report& report, const ViewOptions& options) {
  Table t;
  t.name = "threads";
  t.columns = {{"pid", "pid"},      {"tid", "thread"},     {"self_ns", "calls"},
               {"idle_ns", "idle"}, {"gap_ns", "unknown"}, {"filtered_ns", "filtered"},
               {"calls", "count"},  {"states", "states"}};
  t.columns[2].title = "in calls";
  auto list = report.thread_list;
  std::stable_sort(list.begin(), list.end(),
                   [](auto& a, auto& b) { return a.self_ns > b.self_ns; });
  for (const ReportThread& r : list)
    t.rows.push_back({Cell::of_text(std::to_string(r.pid)), Cell::of_text(std::to_string(r.tid)),
                      Cell::of_time(r.self_ns), Cell::of_time(r.idle_ns), Cell::of_time(r.gap_ns),
                      Cell::of_time(r.filtered_ns), Cell::of_count(r.calls),
                      Cell::of_count(r.states)});
  limit_rows(t, options.limit);
  return t;
}

namespace {

std::string lane_name(const Report& report, const ReportLane& lane) {
  return lane.thread ? lane.name : display_name(report.functions[lane.function]);
}

uint64_t busy(const ReportLane& lane) {
  uint64_t sum = 0;
  for (uint64_t ns : lane.slices) sum += ns;
  return sum;
}

std::vector<const ReportLane*> sorted_lanes(const ReportTimeline& timeline, size_t limit) {
  std::vector<const ReportLane*> lanes;
  for (const auto& lane : timeline.lanes) lanes.push_back(&lane);
  std::stable_sort(lanes.begin(), lanes.end(), [](auto* a, auto* b) {
    return a->thread != b->thread ? a->thread : busy(*a) > busy(*b);
  });
  if (limit && lanes.size() > limit) lanes.resize(limit);
  return lanes;
}

// The lane with `width` characters, each as high as the share of its time that was spent there.
std::string draw(const ReportLane& lane, size_t slices, size_t width, uint64_t slice_ns) {
  static const char* const kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (size_t c = 0; c < width; c++) {
    size_t from = c * slices / width, to = std::max(from + 1, (c + 1) * slices / width);
    uint64_t sum = 0;
    for (size_t i = from; i < to && i < lane.slices.size(); i++) sum += lane.slices[i];
    double share = static_cast<double>(sum) / static_cast<double>(std::max<uint64_t>(1, slice_ns)) /
                   static_cast<double>(to - from);
    auto level = static_cast<size_t>(share * 8 + 0.5);
    out += kLevels[std::min<size_t>(8, sum ? std::max<size_t>(1, level) : 0)];
  }
  return out;
}

Table timeline_of(const Report& report, const ReportTimeline& timeline,
                  const ViewOptions& options) {
  Table t;
  t.name = "timeline";
  t.columns = {{"file", ""},    {"lane", ""},  {"kind", ""},
               {"from_ns", ""}, {"to_ns", ""}, {"busy_ns", ""}};
  constexpr size_t kLabel = 24, kTime = 10;
  const size_t all = options.style.width ? options.style.width : 100;
  auto lanes = sorted_lanes(timeline, options.limit);
  size_t slices = 1;
  for (auto* lane : lanes) slices = std::max(slices, lane->slices.size());
  const size_t width = std::min(slices, std::max<size_t>(all, 60) - kLabel - kTime - 3);
  const uint64_t end = timeline.origin_ns + slices * timeline.slice_ns;
  if (report.files.size() > 1) t.heading = report.files[timeline.file].path;
  t.drawn = true;
  std::string head = format_time(timeline.origin_ns), tail = format_time(end);
  size_t middle = width > head.size() + tail.size() ? width - head.size() - tail.size() : 1;
  t.drawing = std::string(kLabel + kTime + 2, ' ') + head + std::string(middle, ' ') + tail + '\n';
  for (auto* lane : lanes) {
    std::string name = lane_name(report, *lane);
    Table label;  // Cut and padded as a table's last column is.
    std::string shown = printable(name);
    if (shown.size() > kLabel) {
      size_t at = kLabel - 3;
      while (at && (shown[at] & 0xc0) == 0x80) at--;
      shown = shown.substr(0, at) + "...";
    }
    size_t visible = static_cast<size_t>(
        std::count_if(shown.begin(), shown.end(), [](char c) { return (c & 0xc0) != 0x80; }));
    shown += std::string(kLabel - std::min(kLabel, visible), ' ');
    std::string time = format_time(busy(*lane));
    t.drawing += shown + std::string(kTime - std::min(kTime, time.size()), ' ') + time + " |" +
                 draw(*lane, slices, width, timeline.slice_ns) + "|\n";
    for (size_t i = 0; i < lane->slices.size(); i++) {
      if (!lane->slices[i]) continue;
      uint64_t from = timeline.origin_ns + i * timeline.slice_ns;
      t.rows.push_back(
          {Cell::of_text(report.files[timeline.file].path), Cell::of_text(name),
           Cell::of_text(lane->thread ? "thread" : report.functions[lane->function].kind),
           Cell::of_time(from), Cell::of_time(from + timeline.slice_ns),
           Cell::of_time(lane->slices[i])});
    }
  }
  return t;
}

}  // namespace

std::vector<Table> timeline_views(const Report& report, const ViewOptions& options) {
  std::vector<Table> out;
  for (const auto& timeline : report.timelines)
    out.push_back(timeline_of(report, timeline, options));
  return out;
}

}  // namespace luatrace
