// SPDX-License-Identifier: MIT
#include "analyzer/render/summary.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <ostream>

#include "analyzer/decode/escape.h"
#include "analyzer/render/format.h"

namespace luatrace {
namespace {

std::string decimal(double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

void row(std::ostream& out, const std::string& label, const std::string& text) {
  out << std::left << std::setw(13) << label << std::right << text << '\n';
}

std::string flags_text(uint32_t flags) {
  static const char* classes[] = {"none", "user", "default", "all"};
  std::string out = flags & LTF_JIT ? "JIT on" : "JIT off";
  if (flags & LTF_GC64) out += ", GC64";
  if (flags & LTF_INLINE) out += ", inline events";
  if (flags & LTF_DUALNUM) out += ", dual numbers";
  if (flags & LTF_52COMPAT) out += ", 5.2 compatible";
  return out + ", C functions: " + classes[flags >> LTF_CFUNC_SHIFT & 3];
}

std::string command(const ProcessInfo& p) {
  std::string all;
  for (const auto& word : p.cmdline) all += (all.empty() ? "" : " ") + word;
  return printable(all.empty() ? p.exe : all);
}

std::string exit_text(int32_t status) {
  if (status < 0) return "";
  if ((status & 0x7f) == 0) return ", exit status " + std::to_string(status >> 8 & 0xff);
  return ", ended by signal " + std::to_string(status & 0x7f);
}

void print_file(std::ostream& out, const ReportFile& file) {
  row(out, "trace", printable(file.path) + (file.ended ? exit_text(file.end.exit_status) : ""));
  constexpr size_t kMost = 5;
  for (size_t i = 0; i < file.processes.size() && i < kMost; i++)
    row(out, "program",
        command(file.processes[i]) + "  (pid " + std::to_string(file.processes[i].pid) + ')');
  if (file.processes.size() > kMost)
    row(out, "", "and " + std::to_string(file.processes.size() - kMost) + " more processes");
  // An outside tracer does not know the version, nor the flags.
  if (!file.streams.empty() && !file.streams[0].luajit.empty())
    row(out, "LuaJIT",
        printable(file.streams[0].luajit) + "  (" + flags_text(file.streams[0].flags) + ')');
}

void print_head(std::ostream& out, const Report& r) {
  for (const auto& file : r.files) print_file(out, file);
  auto events = static_cast<double>(r.trust.events);
  double seconds = static_cast<double>(r.duration_ns) / 1e9;
  std::string rate = seconds > 0 ? decimal(events / seconds / 1e6, 2) + " M/s" : "-";
  row(out, "duration",
      format_time(r.duration_ns) + "  (calls " + format_time(r.self_ns) + ", idle " +
          format_time(r.idle_ns) + (r.gap_ns ? ", unknown " + format_time(r.gap_ns) : "") + ')');
  row(out, "events",
      format_count(r.trust.events) + "  (" + rate + ", " +
          (events > 0 ? decimal(static_cast<double>(r.bytes) / events, 2) : "-") + " bytes each)");
  row(out, "",
      std::to_string(r.threads) + (r.threads == 1 ? " thread, " : " threads, ") +
          format_count(r.coroutines) + " coroutines, " + format_count(r.functions.size() - 2) +
          " functions, " + format_count(r.tree.size() - 1) + " call-tree nodes");
  if (r.cost_ns > 0 && events > 0)
    row(out, "recording",
        decimal(r.cost_ns / events, 1) +
            " ns per event, measured at the start: "
            "about " +
            format_time(static_cast<uint64_t>(r.cost_ns)) + " of the duration");
}

uint64_t sort_value(const ReportFunction& f, const std::string& key) {
  if (key == "total") return f.running_ns;
  if (key == "calls") return f.calls;
  if (key == "avg") return f.average_ns();
  if (key == "min") return f.min_ns;
  if (key == "max") return f.max_ns;
  return f.self_ns;
}

std::vector<const ReportFunction*> sorted(const Report& r, const std::string& key) {
  std::vector<const ReportFunction*> list;
  for (size_t i = 1; i < r.functions.size(); i++)
    if (i > 1 || r.functions[i].self_ns) list.push_back(&r.functions[i]);
  std::stable_sort(list.begin(), list.end(), [&](auto* a, auto* b) {
    if (key == "name") return display_name(*a) < display_name(*b);
    return sort_value(*a, key) > sort_value(*b, key);
  });
  return list;
}

void print_row(std::ostream& out, const ReportFunction& f, uint64_t all) {
  double share = all ? 100.0 * static_cast<double>(f.self_ns) / static_cast<double>(all) : 0;
  bool seen = f.complete > 0;
  out << std::setw(13) << format_count(f.calls) << std::setw(10) << format_time(f.running_ns)
      << std::setw(10) << format_time(f.self_ns) << std::setw(8) << decimal(share, 1)
      << std::setw(10) << (seen ? format_time(f.average_ns()) : "-") << std::setw(10)
      << (seen ? format_time(f.min_ns) : "-") << std::setw(10)
      << (seen ? format_time(f.max_ns) : "-") << "  " << printable(display_name(f));
  std::string place = display_place(f);
  if (!place.empty() && place != display_name(f)) out << "  (" << printable(place) << ')';
  out << '\n';
}

}  // namespace

bool is_sort_key(const std::string& key) {
  static const char* keys[] = {"self", "total", "calls", "avg", "min", "max", "name"};
  return std::any_of(std::begin(keys), std::end(keys), [&](auto* k) { return key == k; });
}

void print_summary(std::ostream& out, const Report& r, const SummaryOptions& options) {
  print_head(out, r);
  const char* bold = options.color ? "\033[1m" : "";
  const char* red = options.color && r.trust.anomalies() ? "\033[31m" : "";
  const char* normal = options.color ? "\033[0m" : "";
  out << '\n'
      << bold << "        calls     total      self  self %       avg       min       max  function"
      << normal << '\n';
  auto list = sorted(r, options.sort);
  size_t rows = std::min(list.size(), options.top);
  for (size_t i = 0; i < rows; i++) print_row(out, *list[i], r.self_ns);
  if (rows < list.size())
    out << "    (" << list.size() - rows << " more functions: --top " << list.size() << ")\n";
  out << '\n' << red << "trust: " << trust_line(r) << normal << '\n';
}

}  // namespace luatrace
