// SPDX-License-Identifier: MIT
// --info: what was recorded, when, how and by which recorder.
#include "analyzer/output/format.h"
#include "analyzer/output/summary.h"
#include "analyzer/output/views.h"

namespace luatrace::analyze {
namespace {

class Info {
 public:
  explicit Info(Table& table) : table_(table) {
    table.name = "info";
    table.wraps = true;
    table.columns = {
        {"file", "", true, Column::kDataOnly}, {"what", "", true}, {"value", "", true}};
  }
  void file(const ReportFile& f);
  void add(const std::string& what, const std::string& value) {
    table_.rows.push_back({Cell::of_text(path_), Cell::of_text(what), Cell::of_text(value)});
  }
  void of(const std::string& path) { path_ = path; }

 private:
  Table& table_;
  std::string path_;
};

void Info::file(const ReportFile& f) {
  of(f.path);
  add("trace", f.path);
  if (f.bytes) add("size", format_count(f.bytes) + " bytes");
  if (f.start_real_ns) add("first event", format_date(f.start_real_ns) + " UTC");
  add("duration", format_time(f.duration_ns));
  add("clock", f.clock == LT_CLOCK_TSC         ? "time stamp counter"
               : f.clock == LT_CLOCK_CNTVCT    ? "virtual counter (arm64)"
               : f.clock == LT_CLOCK_MONOTONIC ? "CLOCK_MONOTONIC"
                                               : "?");
  for (size_t at = 0; at < f.notes.size();) {
    size_t end = std::min(f.notes.find('\n', at), f.notes.size());
    if (end > at) add("note", f.notes.substr(at, end - at));
    at = end + 1;
  }
  for (const ProcessInfo& p : f.processes) {
    std::string command;
    for (const auto& word : p.cmdline) command += ' ' + word;
    std::string pids = "pid " + std::to_string(p.pid);
    if (p.ns_pid && p.ns_pid != p.pid)
      pids += " (" + std::to_string(p.ns_pid) + " in its namespace)";
    add("process " + std::to_string(p.number), pids + ", " + p.exe + ":" + command);
  }
  for (const StreamInfo& s : f.streams) {
    std::string cost =
        s.event_cost_ps
            ? ", " + decimal(static_cast<double>(s.event_cost_ps) / 1000, 1) + " ns per event"
            : "";
    // Outside tracers do not know the settings.
    const std::string luajit = s.luajit.empty() && s.flags == 0
                                   ? "settings of LuaJIT not known"
                                   : s.luajit + " (" + flags_text(s.flags) + ")";
    if (s.flags & LTF_SAMPLED)
      add("samples " + std::to_string(s.number), "process " + std::to_string(s.process));
    else
      add("Lua VM " + std::to_string(s.number),
          "process " + std::to_string(s.process) + ", thread " + std::to_string(s.tid) +
              ", recording " + std::to_string(s.recording) + ", " + luajit + cost);
  }
  if (f.signature && !f.signature->filters.empty()) add("filters", f.signature->filters);
  if (f.signature && !f.signature->groups.empty()) add("groups", f.signature->groups);
  add("end", f.ended ? "in order" + exit_text(f.end.exit_status)
                     : "missing: the recorder was interrupted, or the file was cut");
}

}  // namespace

Table info_view(const Report& report) {
  Table t;
  Info info(t);
  for (const ReportFile& file : report.files) info.file(file);
  info.of("");
  info.add("traced", format_time(report.traced_ns) + " (calls " + format_time(report.self_ns) +
                         ", idle " + format_time(report.idle_ns) + ", unknown " +
                         format_time(report.gap_ns) + ", filtered out " +
                         format_time(report.filtered_ns) + ")");
  const bool range = has_range(report);
  const std::string whole = range ? " in the whole trace" : "";
  info.add(report.is_sampled() ? "samples" : "events", format_count(report.trust.events) + whole);
  info.add("threads", format_count(report.threads) + whole);
  info.add("coroutines", format_count(report.coroutines) + whole);
  info.add("functions", format_count(report.functions.size() - 2));
  info.add("call-tree nodes", format_count(report.tree.size() - 1));
  if (report.cost_ns > 0 && !range)
    info.add("cost of recording", "about " + format_time(report.cost_ns));
  return t;
}

}  // namespace luatrace::analyze
