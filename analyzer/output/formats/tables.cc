// SPDX-License-Identifier: MIT
// Formats that are tables of functions: our CSV, and those of two older Lua profilers, so that
// their readers keep working.
#include <algorithm>
#include <cstdio>
#include <ostream>

#include "analyzer/output/format.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/report/native_times.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

// Indices of the program's functions in descending order of `key`.
template <class Key>
std::vector<uint32_t> sorted(const Report& report, Key key) {
  std::vector<uint32_t> order;
  for (uint32_t i = kReportFirst; i < report.functions.size(); i++) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return key(report.functions[a]) > key(report.functions[b]);
  });
  return order;
}

std::string average(uint64_t ns, uint64_t calls) {
  return microseconds(calls ? ns / calls : 0);
}

void write_samples_csv(std::ostream& out, const Report& report, const ExportOptions& options) {
  out << "function,file,line,kind,samples,self_samples,inclusive_ns,self_ns,hint\n";
  for (uint32_t i : sorted(report, [](const ReportFunction& f) { return f.self_ns; })) {
    const ReportFunction& f = report.functions[i];
    const FrameName n = frame_name(f, options);
    out << csv_text(n.name) << ',' << csv_text(n.file) << ',' << n.line << ',' << kind_name(f.kind)
        << ',' << f.samples << ',' << f.calls << ',' << f.inclusive_ns << ',' << f.self_ns << ','
        << f.hint << '\n';
  }
}

// A figure of single calls: empty if it is not known.
std::string single(const ReportFunction& f, uint64_t ns) {
  return f.knows_times() ? std::to_string(ns) : "";
}

}  // namespace

void write_functions_csv(std::ostream& out, const Report& report, const ExportOptions& options) {
  if (report.is_sampled()) return write_samples_csv(out, report, options);
  out << "function,file,line,kind,calls,complete,wall_ns,inclusive_ns,self_ns,min_ns,max_ns,"
         "avg_ns,hint,running_ns";  // running_ns: the earlier name of inclusive_ns.
  out << (report.apportioned_ns ? ",apportioned_ns,self_apportioned_ns,inside\n" : "\n");
  for (uint32_t i : sorted(report, [](const ReportFunction& f) { return f.self_ns; })) {
    const ReportFunction& f = report.functions[i];
    const FrameName n = frame_name(f, options);
    out << csv_text(n.name) << ',' << csv_text(n.file) << ',' << n.line << ',' << kind_name(f.kind)
        << ',' << f.calls << ',' << f.all_complete() << ',' << f.wall_ns << ',' << f.inclusive_ns
        << ',' << f.self_ns << ',' << single(f, f.min_ns) << ',' << single(f, f.max_ns) << ','
        << f.average_ns() << ',' << f.hint << ',' << f.inclusive_ns;
    if (report.apportioned_ns)
      out << ',' << f.segments->apportioned_ns << ',' << f.segments->self_apportioned_ns << ','
          << f.segments->inside;
    out << '\n';
  }
}

// The columns of owent's LuaProfile, in its order; times are in microseconds.
void write_luaprofile(std::ostream& out, const Report& report, const ExportOptions& options) {
  out << "File Name,Line,Function Name,Call Times,Full Call Clock(Total),Full Call Clock(Avg.),"
         "Inner Call Clock(Total),Inner Call Clock(Avg.),Native Call Clock(Total),"
         "Native Call Clock(Avg.)\n";
  const std::vector<uint64_t> native = native_times(report);
  for (uint32_t i : sorted(report, [](const ReportFunction& f) { return f.inclusive_ns; })) {
    const ReportFunction& f = report.functions[i];
    const FrameName n = frame_name(f, options);
    out << csv_text(n.file) << ',' << n.line << ',' << csv_text(n.name) << ',' << f.calls;
    for (uint64_t ns : {f.inclusive_ns, f.self_ns, native[i]})
      out << ',' << microseconds(ns) << ',' << average(ns, f.calls);
    out << '\n';
  }
}

// xmake's profiler: "%6.3f, %6.2f%%, %7d, name : file: line", sorted by time: inclusive time in
// seconds, its share of the traced time, calls. On the screen it leaves out what is below 1 %.
void write_xmake(std::ostream& out, const Report& report, const ExportOptions& options) {
  uint64_t left_out = 0;
  for (uint32_t i : sorted(report, [](const ReportFunction& f) { return f.inclusive_ns; })) {
    const ReportFunction& f = report.functions[i];
    if (options.on_screen && f.inclusive_ns < report.traced_ns / 100) {
      left_out++;
      continue;
    }
    FrameName n = frame_name(f, options);
    if (options.style == FrameStyle::kOurs && f.kind == FunctionKind::kLua && f.line != 0 &&
        f.name.empty())
      n.name = "anonymous";
    const double seconds = static_cast<double>(f.inclusive_ns) / 1e9;
    const double all = static_cast<double>(report.traced_ns);
    char text[80];
    snprintf(text, sizeof text, "%6.3f, %6.2f%%, %7llu, ", seconds,
             all > 0 ? 100 * static_cast<double>(f.inclusive_ns) / all : 0,
             static_cast<unsigned long long>(f.calls));
    out << text << n.name << " : " << (n.file.empty() ? "?" : n.file) << ": " << n.line << '\n';
  }
  if (left_out)
    out << "and " << counted(left_out, "function") << " below 1 %: all are in "
        << printable(options.input) << " (luatrace-analyze --format xmake -o FILE)\n";
}

}  // namespace luatrace::analyze
