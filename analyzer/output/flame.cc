// SPDX-License-Identifier: MIT
#include "analyzer/output/flame.h"

#include "analyzer/output/flame_requests.h"
#include "analyzer/output/format.h"

namespace luatrace::analyze {
namespace {

void add_subtitle(FlameInput& input, const Report& r) {
  for (const auto& file : r.files) {
    if (!file.streams.empty()) input.subtitle.push_back(file.streams[0].luajit);
    if (r.files.size() > 1) input.subtitle.push_back(file.path);
  }
  input.subtitle.push_back(format_time(r.duration_ns));
  input.subtitle.push_back(format_count(r.trust.events) +
                           (r.is_sampled() ? " samples" : " events"));
  input.subtitle.push_back(
      std::to_string(r.threads) + (r.threads == 1 ? " thread, " : " threads, ") +
      format_count(r.coroutines) + (r.coroutines == 1 ? " coroutine" : " coroutines"));
  if (r.sampled == SampleKind::kOffCpu) input.subtitle.push_back("blocked time, not CPU time");
  if (!r.is_sampled()) input.subtitle.push_back("idle " + format_time(r.idle_ns));
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

// Title and everything else that does not depend on the nodes.
void describe(FlameInput& input, const Report& r) {
  input.title = title_of(r);
  add_subtitle(input, r);
  input.trust = trust_line(r);
  input.sampled = r.is_sampled();
}

}  // namespace

void write_flame(std::ostream& out, const Report& r, FlameInput page) {
  describe(page, r);
  for (const auto& f : r.functions) page.functions.push_back(&f);
  page.tree = &r.tree;
  if (!page.chart.tracks.empty()) page.requests = page_requests(r, page.chart);
  write_flame_page(out, page);
}

void write_flame_diff(std::ostream& out, const Diff& diff, const Report& after,
                      const Report& before, FlameInput input) {
  describe(input, after);
  input.tree = &diff.tree;
  input.before = &diff.before_nodes;
  input.scale = diff.scale;
  for (const auto& file : before.files) input.subtitle.push_back("compared with " + file.path);
  for (uint32_t i = 0; i < diff.before.size(); i++) input.functions.push_back(&diff.any(i));
  // The chart has function numbers of the report; the page has those of the diff.
  Report both;
  for (uint32_t i = kReportFirst; i < diff.before.size(); i++) both.function(diff.any(i));
  for (FlameTrack& track : input.chart.tracks)
    for (FlameSlice& slice : track.slices)
      if (slice.kind == FlameSlice::kCall)
        slice.what =
            slice.what < kReportFirst ? slice.what : both.function(after.functions[slice.what]);
  for (size_t i = input.functions.size(); i < both.functions.size(); i++)
    input.functions.push_back(&both.functions[i]);
  write_flame_page(out, input);
}

}  // namespace luatrace::analyze
