// SPDX-License-Identifier: MIT
#include "analyzer/output/summary.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "analyzer/output/format.h"
#include "analyzer/report/vm_work_time.h"
#include "analyzer/symbols/vm_work.h"
#include "base/escape.h"
#include "base/saturate.h"

namespace luatrace::analyze {
namespace {

// `width` of the terminal in columns; 0: any.
void row(std::ostream& out, const std::string& label, const std::string& text, size_t width) {
  constexpr size_t kLabel = 13;
  out << std::left << std::setw(kLabel) << label << std::right
      << wrapped(text, width, kLabel, kLabel) << '\n';
}

std::string command(const ProcessInfo& p) {
  std::string all;
  for (const auto& word : p.cmdline) all += (all.empty() ? "" : " ") + word;
  return printable(all.empty() ? p.exe : all);
}

void print_file(std::ostream& out, const ReportFile& file, size_t width) {
  row(out, "trace", printable(file.path) + (file.ended ? exit_text(file.end.exit_status) : ""),
      width);
  constexpr size_t kMaxProcesses = 5;
  for (size_t i = 0; i < file.processes.size() && i < kMaxProcesses; i++)
    row(out, "program",
        cut_text(command(file.processes[i]), width > 60 ? width - 30
                                             : width    ? 30
                                                        : SIZE_MAX) +
            "  (pid " + std::to_string(file.processes[i].pid) + ')',
        width);
  if (file.processes.size() > kMaxProcesses)
    row(out, "", format_count(file.processes.size() - kMaxProcesses) + " more processes", width);
  // Outside tracers know neither version nor flags.
  if (!file.streams.empty() && !file.streams[0].luajit.empty())
    row(out, "LuaJIT",
        printable(file.streams[0].luajit) + "  (" + flags_text(file.streams[0].flags) + ')', width);
}

// "collector 3.20 ms (4.1 %), compiler 1.10 ms (1.4 %)"; nothing if neither ran.
std::string vm_work_text(const Report& r) {
  std::string out;
  const auto add = [&](const char* name, bool (*wanted)(const FunctionName&)) {
    const uint64_t ns = vm_work_time(r, wanted);
    const bool called = std::any_of(r.functions.begin(), r.functions.end(),
                                    [&](const auto& f) { return wanted(f) && f.calls > 0; });
    if (!ns && !called) return;
    const double share =
        r.self_ns ? 100.0 * static_cast<double>(ns) / static_cast<double>(r.self_ns) : 0;
    out += (out.empty() ? "" : ", ") + (name + (' ' + format_time(ns))) + " (" + decimal(share, 1) +
           (r.is_sampled() ? " %)" : " % of the calls' time)");
  };
  add("collector", is_collector);
  add("compiler", is_compiler);
  add("luatrace", is_recording);
  return out;
}

// "1.20 s of the calls' time; waiting 2.00 s, preempted 3.10 ms; not known for 20 us; ...".
std::string cpu_text(const Report& r) {
  uint64_t off = 0;
  for (NodeId i{1}; i < r.tree.size(); ++i) off += r.cpu.off.at(i);
  const uint64_t preempted = std::min(off, r.cpu.preempted_ns);
  return format_time(r.self_ns - std::min(off, r.self_ns)) + " of the calls' time; waiting " +
         format_time(off - preempted) + ", preempted " + format_time(preempted) +
         (r.cpu.unknown_ns ? "; not known for " + format_time(r.cpu.unknown_ns) : "") +
         (r.cpu.cut_ns ? "; " + format_time(r.cpu.cut_ns) + " more than passed are cut" : "");
}

// "1,200 samples of CPU time, 99.0 per second"
std::string sampling_text(const Report& r) {
  const double seconds = static_cast<double>(r.duration_ns) / 1e9;
  const auto samples = static_cast<double>(r.samples.samples);
  std::string out = format_count(r.samples.samples) +
                    (r.sampled == SampleKind::kCpu ? " of CPU time" : " of blocked time");
  if (seconds > 0 && !has_range(r)) out += ", " + decimal(samples / seconds, 1) + " per second";
  if (r.samples.samples)
    out += ", " + format_time(saturate_u64(static_cast<double>(r.traced_ns) / samples)) + " each";
  return out;
}

void print_sampled_head(std::ostream& out, const Report& r, size_t width) {
  row(out, "duration",
      format_time(r.duration_ns) + "  (" + (r.sampled == SampleKind::kCpu ? "CPU " : "blocked ") +
          format_time(r.self_ns) + (r.gap_ns ? ", unknown " + format_time(r.gap_ns) : "") +
          (r.filtered_ns ? ", filtered out " + format_time(r.filtered_ns) : "") + ')',
      width);
  row(out, "samples", sampling_text(r), width);
  row(out, "",
      counted(r.threads, "thread") + ", " + counted(r.functions.size() - 2, "function") + ", " +
          counted(r.tree.size() - 1, "call-tree node"),
      width);
  if (const std::string text = vm_work_text(r); !text.empty()) row(out, "VM", text, width);
}

void print_head(std::ostream& out, const Report& r, size_t width) {
  constexpr size_t kMaxFiles = 5;  // A fleet has thousands.
  for (size_t i = 0; i < r.files.size() && i < kMaxFiles; i++) print_file(out, r.files[i], width);
  if (r.files.size() > kMaxFiles)
    row(out, "", format_count(r.files.size() - kMaxFiles) + " more traces: --info lists all",
        width);
  if (r.is_sampled()) return print_sampled_head(out, r, width);
  auto events = static_cast<double>(r.trust.events);
  double seconds = static_cast<double>(r.duration_ns) / 1e9;
  // Events are counted in the whole trace: with -r they have no rate, and no share of the duration.
  const bool range = has_range(r);
  std::string rate = range         ? "in the whole trace"
                     : seconds > 0 ? decimal(events / seconds / 1e6, 2) + " M/s"
                                   : "-";
  row(out, "duration",
      format_time(r.duration_ns) + "  (calls " + format_time(r.self_ns) + ", idle " +
          format_time(r.idle_ns) + (r.gap_ns ? ", unknown " + format_time(r.gap_ns) : "") +
          (r.filtered_ns ? ", filtered out " + format_time(r.filtered_ns) : "") + ')',
      width);
  row(out, "events",
      format_count(r.trust.events) + "  (" + rate + ", " +
          (events > 0 ? decimal(static_cast<double>(r.bytes) / events, 2) : "-") + " bytes each)",
      width);
  row(out, "",
      counted(r.threads, "thread") + ", " + counted(r.coroutines, "coroutine") +
          (range ? " in the whole trace; in the range " : ", ") +
          counted(r.functions.size() - 2, "function") + ", " +
          counted(r.tree.size() - 1, "call-tree node"),
      width);
  if (const std::string text = vm_work_text(r); !text.empty()) row(out, "VM", text, width);
  if (r.cpu.known()) row(out, "CPU", cpu_text(r), width);
  if (r.cost_ns > 0 && events > 0)
    row(out, "recording",
        decimal(static_cast<double>(r.cost_ns) / events, 1) +
            " ns per event, measured at the start" +
            (range ? "" : ": about " + format_time(r.cost_ns) + " of the duration"),
        width);
}

}  // namespace

bool has_range(const Report& r) {
  return std::any_of(r.files.begin(), r.files.end(), [](const ReportFile& f) {
    return f.signature && (' ' + f.signature->filters).find(" -r ") != std::string::npos;
  });
}

std::string flags_text(uint32_t flags) {
  if (flags & LTF_SAMPLED) return "sampled";
  static const char* classes[] = {"none", "user", "default", "all"};
  std::string out = flags & LTF_JIT ? "JIT on" : "JIT off";
  if (flags & LTF_GC64) out += ", GC64";
  if (flags & LTF_INLINE) out += ", inline events";
  if (flags & LTF_DUALNUM) out += ", dual numbers";
  if (flags & LTF_52COMPAT) out += ", 5.2 compatible";
  const char* const ffi = flags & LTF_FFI ? " and ffi" : "";
  return out + ", C functions: " + classes[flags >> LTF_CFUNC_SHIFT & 3] + ffi;
}

std::string exit_text(int32_t status) {
  if (status < 0) return "";
  if ((status & 0x7f) == 0) return ", exit status " + std::to_string(status >> 8 & 0xff);
  return ", ended by signal " + std::to_string(status & 0x7f);
}

void print_trust(std::ostream& out, const Report& r, const TextStyle& style) {
  const bool red = style.color && r.trust.anomalies();
  const std::string label = "trust: ";
  out << (red ? "\033[31m" : "") << label
      << wrapped(trust_line(r), style.width, label.size(), label.size()) << (red ? "\033[0m" : "")
      << '\n';
}

void print_summary(std::ostream& out, const Report& r, const ViewOptions& options) {
  print_head(out, r, options.style.width);
  out << '\n';
  write_text(out, report_view(r, options), options.style);
  out << '\n';
  print_trust(out, r, options.style);
}

}  // namespace luatrace::analyze
