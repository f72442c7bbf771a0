// SPDX-License-Identifier: MIT
// The pass that reads: sets the options of the pipeline and the consumers of individual calls.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "analyzer/options/conflicts.h"
#include "analyzer/output/columns/tables.h"
#include "analyzer/output/formats/call_export.h"
#include "analyzer/output/formats/chart.h"
#include "analyzer/passes.h"
#include "analyzer/progress.h"
#include "analyzer/report/conditions.h"
#include "analyzer/report/saved_profile.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kMinChartLimit = 100000, kMaxChartLimit = 1000000, kBytesPerCall = 80;
// Of the page's requests: some 4 MB in the page.
constexpr size_t kPageRequestSteps = 200000;

// Whether views or conditions name functions, so that a message about a name may be needed.
bool names_functions(const Options& o) {
  return !o.views.callers.empty() || !o.views.callees.empty() || !o.views.hist.empty() ||
         !o.views.slow.empty() || !o.fail_if.empty();
}

// Takes the chart, which is empty for saved profiles: they have no single calls.
void take_chart(Session& session, ChartExport& chart, Report& report) {
  session.page.chart = chart.finish(report);
  session.page.chart.linked = !session.options.filter.regroups();
  if (session.page.chart.tracks.empty()) session.page.no_chart = "No single calls are known.";
}

// Calls in the chart: as many as a browser shows soon, but of small files fewer, so that memory
// follows the size of the input even if it is hostile.
size_t chart_limit(const Options& o) {
  if (o.page.chart_limit) return *o.page.chart_limit;
  uint64_t bytes = 0;
  for (const std::string& path : o.files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) continue;
    if (const auto size = std::filesystem::file_size(path, error); !error) bytes += size;
  }
  return std::clamp<size_t>(bytes / kBytesPerCall, kMinChartLimit, kMaxChartLimit);
}

bool needs_histograms(const Options& o) {
  bool needs = o.views.needs_histogram() || o.save_profile || shows_default_table(o);
  for (const auto& text : o.fail_if) needs |= Condition(text, !o.diff.empty()).needs_histogram();
  return needs;
}

// No progress while calls are written to the terminal: the two would mix.
ProgressMode progress_mode(const Options& o, bool writes_calls) {
  const bool on_terminal = writes_calls && o.exports.output == "-" && isatty(STDOUT_FILENO);
  if (o.quiet || on_terminal) return ProgressMode::kNever;
  if (isatty(STDERR_FILENO)) return ProgressMode::kTerminal;
  return o.progress ? ProgressMode::kLines : ProgressMode::kNever;
}

// The host of --label, for tables of calls.
std::string host_label(const Options& o) {
  std::string host;
  for (const PushLabel& label : o.push.labels)
    if (label.key == "host") host = label.value;
  return host;
}

}  // namespace

PipelineOptions pipeline_options(const Options& o) {
  const ViewOptions& v = o.views;
  PipelineOptions p{o, v};
  p.histograms = needs_histograms(o);
  p.coroutine_order = coroutine_order(v.sort_given ? v.sort : "");
  p.requests |= o.exports.format == kTables && !o.filter.filters();
  p.turn_order = find_turn_order(v.sort).value_or(TurnLog::By::kWall);
  // Filters would leave out parts of requests; a comparison shows none.
  const bool whole = !o.filter.filters() && o.diff.empty();
  if (o.flame && o.page.all_views && whole) p.request_steps = kPageRequestSteps;
  p.hidden_names = names_functions(o);
  p.keeps_buckets = (o.save_profile || v.timeline) && !o.no_buckets;
  return p;
}

Report read_files(Session& session, const std::vector<std::string>& files, bool writes_calls) {
  const ProgressMode mode = progress_mode(session.options, writes_calls);
  each_file(session, files, [&](const std::string& path, Input& input, Diagnostics& diag) {
    if (session.tables) session.tables->set_path(path);
    ProgressLine progress(input, mode);
    session.has_events |= !is_profile(input);
    session.pipeline.read(input, diag, [&](uint64_t offset) { progress(offset); });
    if (session.pipeline.is_sampled()) refuse_without_calls(session.options);
  });
  return session.pipeline.finish();
}

Report read_traces(Session& session) {
  const Options& o = session.options;
  const ExportFormat* format = find_format(o.exports.format);
  std::optional<CallExport> calls;
  if (format && format->make_writer) {
    calls.emplace(o.exports);
    if (!calls->error().empty())
      return cannot_write(session, o.exports.output, calls->error()), Report();
    session.pipeline.add(*calls);
  }
  std::optional<CallTables> tables;
  if (o.exports.format == kTables) {
    tables.emplace(o.exports, host_label(o));
    if (!tables->error().empty())
      return cannot_write(session, o.exports.output, tables->error()), Report();
    session.tables = &*tables;
    session.pipeline.add(*tables);
  }
  std::optional<ChartExport> chart;
  if (o.flame && o.page.all_views) session.pipeline.add(chart.emplace(chart_limit(o)));
  Report report = read_files(session, o.files, calls.has_value());
  if (calls) calls->finish();
  if (calls && !calls->error().empty()) cannot_write(session, o.exports.output, calls->error());
  session.tables = nullptr;
  if (tables) {
    if (!report.files.empty()) tables->finish(report);
    if (!tables->error().empty()) cannot_write(session, o.exports.output, tables->error());
  }
  if (chart) take_chart(session, *chart, report);
  return report;
}

}  // namespace luatrace::analyze
