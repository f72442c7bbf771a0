// SPDX-License-Identifier: MIT
#include "analyzer/output/flame.h"

#include "analyzer/collect/histogram.h"
#include "analyzer/output/format.h"
#include "analyzer/output/page/flame_page.h"
#include "analyzer/output/views.h"

namespace luatrace::analyze {
namespace {

void add_subtitle(FlameInput& input, const Report& r) {
  for (const auto& file : r.files) {
    if (!file.streams.empty()) input.subtitle.push_back(file.streams[0].luajit);
    if (r.files.size() > 1) input.subtitle.push_back(file.path);
  }
  input.subtitle.push_back(format_time(r.duration_ns));
  input.subtitle.push_back(format_count(r.trust.events) + " events");
  input.subtitle.push_back(std::to_string(r.threads) +
                           (r.threads == 1 ? " thread, " : " threads, ") +
                           format_count(r.coroutines) + " coroutines");
  input.subtitle.push_back("idle " + format_time(r.idle_ns));
}

std::string title_of(const Report& r) {
  for (const auto& file : r.files)
    for (const auto& process : file.processes) {
      std::string all;
      for (const auto& word : process.cmdline) all += (all.empty() ? "" : " ") + word;
      if (!all.empty()) return all;
    }
  return r.files.empty() ? "luatrace" : r.files[0].path;
}

FlameTimes times_of(const ReportFunction& f) {
  FlameTimes t;
  t.complete = f.complete;
  t.min_ns = f.min_ns;
  t.avg_ns = f.average_ns();
  t.max_ns = f.max_ns;
  t.wall_ns = f.wall_ns;
  t.percentiles = !f.times.buckets.empty();
  if (!t.percentiles) return t;
  t.p50_ns = f.times.percentile(50, f.min_ns, f.max_ns);
  t.p90_ns = f.times.percentile(90, f.min_ns, f.max_ns);
  t.p99_ns = f.times.percentile(99, f.min_ns, f.max_ns);
  t.p999_ns = f.times.percentile(99.9, f.min_ns, f.max_ns);
  t.deviation_ns = static_cast<uint64_t>(deviation(f.complete, f.sum_ns, f.times.squares));
  return t;
}

void add_function(FlameInput& input, const ReportFunction& f) {
  input.functions.push_back(
      {distinct_name(f), f.chunk, f.line, kind_name(f.kind), times_of(f), shows_hint(f)});
}

// Title, chart and everything else of a page that does not depend on its nodes.
FlameInput page_of(const Report& r, const FlameSource& source) {
  FlameInput input;
  input.title = title_of(r);
  add_subtitle(input, r);
  input.trust = trust_line(r);
  if (source.chart) input.chart = *source.chart;
  input.no_chart = source.no_chart;
  return input;
}

void write_page(std::ostream& out, const FlameInput& input, const FlameSource& source) {
  FlamePageOptions options;
  options.max_nodes = source.most_nodes;
  write_flame_page(out, input, options);
}

}  // namespace

void write_flame(std::ostream& out, const Report& r, const FlameSource& source) {
  FlameInput input = page_of(r, source);
  for (const auto& f : r.functions) add_function(input, f);
  std::vector<uint64_t> inclusive = inclusive_ns(r.tree);
  input.nodes.reserve(r.tree.size());
  for (uint32_t i = 0; i < r.tree.size(); i++) {
    const CallNode& n = r.tree[i];
    input.nodes.push_back({n.parent, n.function, n.calls, inclusive[i], i ? n.self : 0});
  }
  std::vector<uint64_t>().swap(inclusive);
  write_page(out, input, source);
}

void write_flame_diff(std::ostream& out, const Diff& diff, const Report& after,
                      const Report& before, const FlameSource& source) {
  FlameInput input = page_of(after, source);
  input.diff = true;
  input.scale = diff.scale;
  for (const auto& file : before.files) input.subtitle.push_back("compared with " + file.path);
  for (uint32_t i = 0; i < diff.before.size(); i++) add_function(input, diff.any(i));
  input.nodes.reserve(diff.nodes.size());
  for (const DiffNode& n : diff.nodes) {
    const bool root = &n == diff.nodes.data();
    input.nodes.push_back({n.parent, n.function, n.after.calls, n.after.total_ns,
                           root ? 0 : n.after.self_ns, n.before.calls,
                           root ? 0 : n.before.self_ns});
  }
  // The chart has function numbers of the report; the page has those of the diff.
  Report both;
  for (uint32_t i = 2; i < diff.before.size(); i++) both.function(diff.any(i));
  for (FlameTrack& track : input.chart.tracks)
    for (FlameSlice& slice : track.slices)
      if (slice.kind == FlameSlice::kCall)
        slice.what = slice.what < 2 ? slice.what : both.function(after.functions[slice.what]);
  for (size_t i = input.functions.size(); i < both.functions.size(); i++)
    add_function(input, both.functions[i]);
  write_page(out, input, source);
}

}  // namespace luatrace::analyze
