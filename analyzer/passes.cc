// SPDX-License-Identifier: MIT
#include "analyzer/passes.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>

#include "analyzer/options/conflicts.h"
#include "analyzer/output/calls.h"
#include "analyzer/output/dump.h"
#include "analyzer/output/flame.h"
#include "analyzer/output/folded.h"
#include "analyzer/output/format.h"
#include "analyzer/output/formats/formats.h"
#include "analyzer/output/formats/own_output.h"
#include "analyzer/output/jit_view.h"
#include "analyzer/output/json.h"
#include "analyzer/output/summary.h"
#include "analyzer/push/push.h"
#include "analyzer/read/is_sampled.h"
#include "analyzer/report/conditions.h"
#include "analyzer/report/saved_profile.h"
#include "analyzer/report/stack_limit.h"
#include "analyzer/symbols/symbolizer.h"
#include "analyzer/terminal_line.h"
#include "base/escape.h"
#include "base/saturate.h"
#include "cli/command_line.h"
#include "luatrace_work.h"
#include "trace/output_file.h"

namespace luatrace::analyze {
namespace {

void dump_calls(Input& input, Diagnostics& diag, Symbolizer& symbols) {
  CallsSink sink(std::cout);
  TraceFacts facts;
  Streams<CallsSink> streams(facts, sink, diag);
  sink.set_namer([&](FunctionId index) {
    const Function& f = facts.functions[index];
    bool search = f.type == LT_FUNC_C && f.name.empty();
    return call_name(f, search ? symbols.find(facts.maps, f).name : "");
  });
  sink.set_hider([&](FunctionId index) {
    const Function& f = facts.functions[index];
    return f.type == LT_FUNC_FF &&
           (f.ffid == LT_FF_GC || f.ffid == LT_FF_JIT || f.ffid == LT_FF_OWN);
  });
  read_trace(input, diag, streams);
  streams.finish();
}

[[noreturn]] void refuse_profile(const std::string& path, const char* option) {
  throw UsageError(printable(path) + ": a saved profile has no events: " + option +
                   " needs the trace that it was made from");
}

void refuse_samples(const std::string& path, Input& input, const char* option) {
  if (is_sampled(input))
    throw UsageError(printable(path) + ": samples have no events, which " + option +
                     " needs: record without --sample");
}

std::string page_path(const std::string& trace) {
  if (trace == "-") return "trace.html";
  return std::filesystem::path(trace).replace_extension(".html").string();
}

// Calls `write` with the file, or with standard output for "-", whose errors are checked at the
// end. kind: see is_own_output().
template <class F>
bool write_to(Session& session, const std::string& path, const std::string& kind, F write) {
  if (path == "-") return write(std::cout), true;
  OutputFile file(path, keep_others(kind, session.options.exports.force));
  if (file) write(file);
  const std::string why = file.finish();
  if (!why.empty()) cannot_write(session, path, why);
  return why.empty();
}

// CSV has no place for it.
void warn_csv_left_out(const std::vector<Table>& views) {
  for (const Table& t : joined(views))
    if (t.left_out)
      warn("--csv: " + t.name + ": " + format_count(t.left_out) +
           " more rows: --limit 0 writes them");
}

// Prints the requested views to standard output, or the summary.
void print_text(const Report& report, const std::vector<Table>& views, const ViewOptions& options) {
  if (views.empty()) return print_summary(std::cout, report, options);
  for (const Table& table : views) {
    write_text(std::cout, table, options.style);
    std::cout << '\n';
  }
  print_trust(std::cout, report, options.style);
}

}  // namespace

void cannot_write(Session& session, const std::string& path, const std::string& why) {
  warn((path == "-" ? "standard output" : printable(path)) + ": cannot write" +
       (why.empty() ? "" : ": " + printable(why)));
  session.unreadable = true;
}

// All files that are written, each with its kind (is_own_output()).
std::vector<std::pair<std::string, std::string>> output_files(const Options& o) {
  std::vector<std::pair<std::string, std::string>> files;
  const auto add = [&](const std::optional<std::string>& path, const char* kind) {
    if (path && !path->empty()) files.emplace_back(*path, kind);
  };
  add(o.json, "json");
  add(o.csv, "csv");
  add(o.folded, "folded");
  add(o.flame, "page");
  add(o.save_profile, "profile");
  add(o.convert, "trace");
  if (find_format(o.exports.format)) files.emplace_back(o.exports.output, o.exports.format);
  if (o.flame && o.flame->empty() && !o.files.empty())
    files.emplace_back(page_path(o.files[0]), "page");
  return files;
}

void refuse_others_files(const Options& o) {
  std::error_code missing;
  for (const auto& [out, kind] : output_files(o)) {
    const std::vector<std::string> weights = {o.weights};
    for (const auto* inputs : {&o.files, &o.diff, &weights})
      for (const std::string& in : *inputs)
        if (std::filesystem::is_regular_file(in, missing) && is_same_file(in, out))
          throw UsageError(printable(out) + " is an input file and would be overwritten");
    if (o.exports.force) continue;
    if (const std::string why = why_kept(out, kind); !why.empty())
      throw UsageError(printable(out) + ": " + why);
  }
}

void warn_duplicates(const Options& o) {
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const std::string& path : o.files) {
    struct stat s {};
    if (path == "-" || stat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) continue;
    if (!seen.emplace(s.st_dev, s.st_ino).second)
      warn(printable(path) + ": given twice, so it is counted twice");
  }
}

void warn(const std::string& text) {
  standard_error().print("luatrace-analyze: " + text);
}

void each_file(Session& session, const std::vector<std::string>& files,
               const std::function<void(const std::string&, Input&, Diagnostics&)>& read) {
  for (const std::string& path : files) {
    Diagnostics diag(path == "-" ? "standard input" : path, warn);
    diag.growing = session.options.growing;
    try {
      Input input(path);
      read(path, input, diag);
    } catch (const Unreadable& e) {
      warn(e.what());
      session.unreadable = true;
    }
    session.trust += diag.trust;
  }
}

void dump_files(Session& session) {
  Symbolizer symbols(session.options.sysroot, warn, session.options.debug_dirs);
  each_file(session, session.options.files,
            [&](const std::string& path, Input& input, Diagnostics& diag) {
              if (is_profile(input)) refuse_profile(path, "--dump");
              if (session.options.dump == "calls") refuse_samples(path, input, "--dump=calls");
              if (session.options.dump == "calls") return dump_calls(input, diag, symbols);
              DumpSink sink(std::cout);
              read_trace(input, diag, sink);
            });
}

void jit_files(Session& session) {
  const Options& o = session.options;
  JitLog log;
  each_file(session, o.files, [&](const std::string& path, Input& input, Diagnostics& diag) {
    if (is_profile(input)) refuse_profile(path, "--jit");
    refuse_samples(path, input, "--jit");
    read_trace(input, diag, log);
    log.finish_file();
  });
  const std::vector<Table> views = jit_views(log, o.views.limit);
  if (o.json)
    write_to(session, *o.json, "json", [&](std::ostream& out) { write_json(out, views); });
  if (o.csv) write_to(session, *o.csv, "csv", [&](std::ostream& out) { write_csv(out, views); });
  if (o.csv && !o.quiet) warn_csv_left_out(views);
  if (is_output_taken(o)) return;
  for (const Table& table : views) {
    write_text(std::cout, table, o.views.style);
    std::cout << '\n';
  }
}

void convert_file(Session& session) {
  each_file(session, session.options.files,
            [&](const std::string& path, Input& input, Diagnostics& diag) {
              if (is_profile(input)) refuse_profile(path, "--convert");
              Progress none;
              const auto trace = to_binary(input, diag, none);
              if (!trace) throw Unreadable(printable(path) + ": not the text form of a trace");
              write_to(session, *session.options.convert, "trace", [&](std::ostream& out) {
                for (; trace->need(1); trace->consume(trace->available())) out << trace->text();
              });
            });
}

// The files for which the recorder did not measure the cost of events.
std::vector<std::string> files_without_cost(const Report& report) {
  std::vector<std::string> names;
  for (const ReportFile& file : report.files) {
    auto known = [](const StreamInfo& s) { return s.event_cost_ps != 0; };
    if (std::none_of(file.streams.begin(), file.streams.end(), known))
      names.push_back(printable(file.path));
  }
  return names;
}

void warn_slow_left_out(const Report& report) {
  if (report.slow_left_out)
    warn("--slow: " + std::to_string(report.slow_left_out) +
         " calls have no row of their own, because too many other matching calls were open in the "
         "coroutines that resumed theirs: they are part of those calls");
}

// Where the line "trust" is not printed.
void warn_lost(const Report& report) {
  if (report.trust.lost)
    warn((report.trust.lost_at_least ? "at least " : "") + format_count(report.trust.lost) +
         (report.is_sampled() ? " samples were lost while recording: time is missing"
                              : " events were lost while recording: calls are missing"));
}

// Warns if --compensate cannot correct all files.
void warn_compensation(const Options& o, const Report& report) {
  if (!o.views.compensate) return;
  if (report.cost_ns == 0)
    return warn(
        "--compensate: the cost of recording is unknown (outside tracers do not measure it, and "
        "segments have none for each call: --times events), so no times are corrected");
  const std::vector<std::string> unknown = files_without_cost(report);
  if (!unknown.empty())
    warn("--compensate: the cost of recording is unknown for " + list_text(unknown, 5) +
         ": their times are not corrected");
  const std::vector<std::string> raw = raw_outputs(o);
  if (!raw.empty())
    warn("--compensate corrects only --report, --tree and the functions of --json: the times of " +
         list_text(raw) + " are as measured");
}

// Warns if CPU times are to be shown, and are not known.
void warn_cpu(const Options& o, const Report& report) {
  bool wanted = o.views.sort == "cpu" || o.views.sort == "self_cpu";
  for (const Field& field : o.views.fields)
    wanted |= field.kind == Field::kCpu || field.kind == Field::kSelfCpu;
  if (wanted && !report.cpu.known())
    warn("CPU times are not known: they need traces that were recorded with --cpu");
}

// Warns if times inside compiled code are not apportioned in the same way on both sides of --diff.
void warn_weights(const Options& o, const Report& report, const Report& before) {
  const auto by = [](const Report& r) {
    return r.weight_samples ? "samples (--weights)" : "the size of the code";
  };
  if (!report.apportioned_ns || !before.apportioned_ns ||
      (report.weight_samples != 0) == (before.weight_samples != 0))
    return;
  warn("--diff: the time inside compiled segments is apportioned by " + std::string(by(before)) +
       " in " + printable(o.diff[0]) + ", and by " + by(report) + " in " + printable(o.files[0]) +
       ": self times may differ for that reason alone");
}

// The diff of both reports, cut off at the same depth if either must be.
Diff diff_of_stacks(const Report& before, const Report& after, bool normalize) {
  const auto old_limit = folded_limit(before), limit = folded_limit(after);
  if (!old_limit && !limit) return make_diff(before, after, normalize);
  const uint32_t depth = std::min(old_limit.value_or(UINT32_MAX), limit.value_or(UINT32_MAX));
  Report old_cut = before, cut = after;
  cut_stacks(old_cut, depth);
  cut_stacks(cut, depth);
  return make_diff(old_cut, cut, normalize);
}

// The time of day, in the system's time zone, with its offset.
std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[64] = "";
  if (localtime_r(&now, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts);
  return text;
}

// The parts of the page that come from the command line.
void prepare_page(Session& session) {
  const Options& o = session.options;
  FlameInput& page = session.page;
  page.max_nodes = o.page.graph_limit;
  page.only_graph = !o.page.all_views;
  page.program = "luatrace-analyze " LUATRACE_VERSION;
  page.made_at = now_as_text();
  page.command = o.command;
}

// One line that says what the page leaves out and how to have it; nothing if it has everything.
void warn_left_out(const Session& session, size_t nodes) {
  const PageOptions& o = session.options.page;
  const FlameChart& chart = session.page.chart;
  std::string text;
  if (!o.all_views && session.has_events)
    text = "only the flame graph is written: --page adds calls over time, coroutines and requests";
  if (chart.hidden_calls && chart.shortest_ns > 1)  // Calls of 0 ns are never drawn one by one.
    text = format_count(chart.hidden_calls) + " of " + format_count(chart.calls) +
           " calls are too short to be drawn one by one over time: --chart-limit 0 or a range (-r) "
           "has them";
  if (o.graph_limit && nodes > o.graph_limit)
    text += (text.empty() ? "" : "; ") + format_count(nodes - o.graph_limit) +
            " small call paths are drawn as [pruned]: --graph-limit 0 has them";
  if (!text.empty()) warn(text);
}

void write_page(Session& session, const Report& report, const Report* before) {
  const Options& o = session.options;
  const std::string path = o.flame->empty() ? page_path(o.files[0]) : *o.flame;
  prepare_page(session);
  size_t nodes = report.tree.size();
  const bool written = write_to(session, path, "page", [&](std::ostream& out) {
    if (!before) return write_flame(out, report, session.page);
    const Diff diff = make_diff(*before, report, o.views.normalize);
    nodes = diff.tree.size();
    write_flame_diff(out, diff, report, *before, session.page);
  });
  if (!written || o.quiet) return;
  warn_left_out(session, nodes);
  if (!is_output_taken(o)) std::cout << "flame graph: " << printable(path) << '\n';
}

void write_outputs(Session& session, const Report& report, const Report* before) {
  const Options& o = session.options;
  warn_compensation(o, report);
  warn_cpu(o, report);
  if (before) warn_weights(o, report, *before);
  warn_slow_left_out(report);
  std::vector<Table> views =
      before ? make_diff_views(*before, report, o.views) : make_views(report, o.views);
  if (o.json)
    write_to(session, *o.json, "json",
             [&](std::ostream& out) { write_json(out, report, views, o.views.compensate); });
  if (o.csv) {
    const auto tables = views.empty() ? std::vector{report_view(report, o.views)} : joined(views);
    write_to(session, *o.csv, "csv", [&](std::ostream& out) { write_csv(out, tables); });
    if (!o.quiet) warn_csv_left_out(tables);
  }
  // The reports with suspended time, for flame graphs.
  std::optional<Report> suspended, before_suspended;
  const ExportFormat* format = find_format(o.exports.format);
  if (o.views.suspended && (o.folded || o.flame || (format && format->has_tree))) {
    add_suspended_nodes(suspended.emplace(report));
    if (before) add_suspended_nodes(before_suspended.emplace(*before));
  }
  const Report& shown = suspended ? *suspended : report;
  if (o.folded)
    write_to(session, *o.folded, "folded", [&](std::ostream& out) {
      if (!before) return write_folded(out, shown, o.unit_ns);
      write_folded_diff(out, diff_of_stacks(*before, report, o.views.normalize), o.unit_ns);
    });
  if (o.save_profile)
    write_to(session, *o.save_profile, "profile",
             [&](std::ostream& out) { write_profile(out, report); });
  if (format && format->write)  // Otherwise it was written while reading.
    write_to(session, o.exports.output, o.exports.format, [&](std::ostream& out) {
      format->write(out, format->has_tree ? shown : report, o.exports);
    });
  // --quiet suppresses only the summary, not requested views, nor a comparison that has no other
  // output.
  const bool other = o.json || o.csv || o.folded || o.flame || o.save_profile || !o.fail_if.empty();
  if (!is_output_taken(o) && (!o.quiet || o.views.any() || (before && !other)))
    print_text(report, views, o.views);
  else
    warn_lost(report);
  if (o.flame) write_page(session, shown, before_suspended ? &*before_suspended : before);
}

void push_profile(Session& session, const Report& report) {
  const Options& o = session.options;
  if (o.push.url.empty()) return;
  try {
    session.not_pushed |= push_report(report, o.push, warn) != PushResult::kSent;
  } catch (const std::runtime_error& e) {
    warn(printable(e.what()));
    session.unreadable = true;
  }
}

// "is 9.54 %", or with several "self(work) is 9.54 %, lost is 3".
std::string values_text(const std::vector<ComparedValue>& values) {
  std::string out;
  for (const ComparedValue& v : values) {
    const double size = std::fabs(v.value);
    const uint64_t whole = saturate_u64(size);
    out += (out.empty() ? "" : ", ") + (values.size() > 1 ? v.of + ' ' : "") + "is ";
    out += v.value < 0 ? "-" : v.change ? "+" : "";
    out += v.kind == ComparedValue::kPercent
               ? (std::isinf(size) ? "infinite" : decimal(size, 2)) + " %"
           : v.kind == ComparedValue::kTime ? format_time(whole)
                                            : format_count(whole);
  }
  return out;
}

void test_conditions(Session& session, const Report& report, const Report* before) {
  for (const std::string& text : session.options.fail_if) {
    const Condition condition(text, before);
    std::vector<ComparedValue> values;
    const bool is_true = condition.test(report, before, values);
    if (!session.options.allow_missing)
      for (const std::string& name : condition.missing(report, before)) {
        warn("--fail-if: " + no_function(report, name) + " (--allow-missing: it counts as 0)");
        session.missing = true;
      }
    if (is_true) warn("--fail-if: true: " + printable(text + " (" + values_text(values) + ')'));
    session.condition |= is_true;
  }
}

}  // namespace luatrace::analyze
