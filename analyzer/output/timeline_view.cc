// SPDX-License-Identifier: MIT
// --timeline: what ran when, drawn with characters: a lane for each thread and for the functions
// (or groups) with the most time.
#include <algorithm>

#include "analyzer/output/cut_names.h"
#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "base/escape.h"

namespace luatrace::analyze {
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
  std::vector<std::pair<const ReportLane*, uint64_t>> sums;
  for (const auto& lane : timeline.lanes) sums.emplace_back(&lane, busy(lane));
  std::stable_sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
    const bool thread = a.first->thread;
    return thread != b.first->thread ? thread : a.second > b.second;
  });
  if (limit && sums.size() > limit) sums.resize(limit);
  std::vector<const ReportLane*> lanes;
  for (const auto& lane : sums) lanes.push_back(lane.first);
  return lanes;
}

// What a lane may have between two slices at most: their length, or, as time buckets are of any
// number of Lua VMs, what was traced.
uint64_t full_ns(const ReportTimeline& t, size_t from, size_t to) {
  if (t.traced_ns.empty()) return t.borders_ns[to] - t.borders_ns[from];
  uint64_t sum = 0;
  for (size_t i = from; i < to; i++) sum += t.traced_ns[i];
  return sum;
}

// Draws the lane with `width` characters, the height of each being the share of its time spent in
// the lane.
std::string draw(const ReportLane& lane, const ReportTimeline& timeline, size_t width) {
  static const char* const kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t slices = timeline.borders_ns.size() - 1;
  std::string out;
  for (size_t c = 0; c < width; c++) {
    size_t from = c * slices / width, to = std::max(from + 1, (c + 1) * slices / width);
    uint64_t sum = 0;
    for (size_t i = from; i < to && i < lane.slices.size(); i++) sum += lane.slices[i];
    const uint64_t time = std::max<uint64_t>(1, full_ns(timeline, from, to));
    const double share = static_cast<double>(sum) / static_cast<double>(time);
    const auto level = static_cast<size_t>(std::min(share, 1.0) * 8 + 0.5);
    out += kLevels[sum ? std::max<size_t>(1, level) : 0];
  }
  return out;
}

// Widths in a line: the name of a lane, its time, the lane between two bars. A name that is longer
// than its column has a line of its own.
struct Layout {
  size_t all, label, lane;
  static constexpr size_t kTime = 9, kBars = 3;

  // longest: the width of the longest name.
  Layout(const ReportTimeline& timeline, size_t terminal, size_t longest) {
    constexpr size_t kPipe = 100, kNarrowest = 40, kShortest = 12, kLongest = 40;
    all = std::max(terminal ? terminal : kPipe, kNarrowest);
    label = std::min(std::max(longest, kShortest), std::clamp(all * 2 / 5, kShortest, kLongest));
    lane = std::min(timeline.borders_ns.size() - 1, all - label - kTime - kBars);
  }
};

// "2026-11-21 14:00:00", or a time since the first event.
std::string end_text(const ReportTimeline& timeline, uint64_t ns) {
  if (timeline.traced_ns.empty()) return format_time(ns);
  const std::string date = format_date(timeline.start_real_ns + ns);
  return date.substr(0, date.find('.'));
}

// The line above the lanes, with the times at which they begin and end.
std::string draw_ends(const ReportTimeline& timeline, const Layout& layout) {
  const std::string head = end_text(timeline, timeline.borders_ns.front()),
                    tail = end_text(timeline, timeline.borders_ns.back());
  const size_t ends = head.size() + tail.size();
  const std::string blank(layout.label + Layout::kTime + 2, ' ');
  if (layout.lane <= ends) return blank + cut_text(head + '~' + tail, layout.lane) + '\n';
  return blank + head + std::string(layout.lane - ends, ' ') + tail + '\n';
}

std::string draw_lane(const ReportTimeline& timeline, const ReportLane& lane,
                      const std::string& name, const Layout& layout) {
  const size_t width = text_width(name);
  std::string label = name, time = format_time(busy(lane));
  if (width > layout.label) label += '\n' + std::string(layout.label, ' ');
  label += std::string(layout.label - std::min(layout.label, width), ' ');
  return label + std::string(Layout::kTime - std::min(Layout::kTime, time.size()), ' ') + time +
         " |" + draw(lane, timeline, layout.lane) + "|\n";
}

void add_slices(Table& t, const ReportTimeline& timeline, const ReportLane& lane,
                const std::string& file, const std::string& name, const std::string& kind) {
  for (size_t i = 0; i < lane.slices.size(); i++) {
    if (!lane.slices[i]) continue;
    t.rows.push_back({Cell::of_text(file), Cell::of_text(name), Cell::of_text(kind),
                      Cell::of_time(timeline.start_real_ns + timeline.borders_ns[i]),
                      Cell::of_time(timeline.start_real_ns + timeline.borders_ns[i + 1]),
                      Cell::of_time(lane.slices[i])});
  }
}

Table timeline_of(const Report& report, const ReportTimeline& timeline,
                  const ViewOptions& options) {
  Table t;
  t.name = "timeline";
  t.columns = {{"file", ""},    {"lane", ""},  {"kind", ""},
               {"from_ns", ""}, {"to_ns", ""}, {"busy_ns", ""}};
  const bool buckets = !timeline.traced_ns.empty();
  const std::string file = buckets ? "" : report.files[timeline.file].path;
  if (buckets)
    t.heading = "time buckets of " + width_text(report.buckets.width_ns) + ", " +
                end_text(timeline, timeline.borders_ns.front()) + " to " +
                end_text(timeline, timeline.borders_ns.back()) + " UTC";
  else if (report.files.size() > 1)
    t.heading = file;
  const auto lanes = sorted_lanes(timeline, options.limit);
  bool hints = false;
  std::vector<std::string> names;
  size_t longest = 0;
  for (auto* lane : lanes) {
    const bool hint = !lane->thread && shows_hint(report.functions[lane->function]);
    hints |= hint;
    names.push_back(printable(lane_name(report, *lane)) + (hint ? "?" : ""));
    longest = std::max(longest, text_width(names.back()));
  }
  const Layout layout(timeline, options.style.width, longest);
  CutNames cut;
  for (const std::string& name : names) cut.add(name, layout.all);
  cut.settle();
  t.drawn = true;
  t.drawing = draw_ends(timeline, layout);
  for (size_t i = 0; i < lanes.size(); i++) {
    const auto* lane = lanes[i];
    const std::string name = lane_name(report, *lane);
    t.drawing += draw_lane(timeline, *lane, cut.of(names[i], layout.all), layout);
    add_slices(t, timeline, *lane, file, name,
               lane->thread ? "thread" : kind_name(report.functions[lane->function].kind));
  }
  if (hints) t.notes.push_back(kHintNote);
  note_left_out(t, timeline.lanes.size() - lanes.size());
  return t;
}

}  // namespace

std::vector<Table> timeline_views(const Report& report, const ViewOptions& options) {
  std::vector<Table> out;
  for (const auto& timeline : report.timelines)
    out.push_back(timeline_of(report, timeline, options));
  return out;
}

}  // namespace luatrace::analyze
