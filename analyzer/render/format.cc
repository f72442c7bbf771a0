// SPDX-License-Identifier: MIT
#include "analyzer/render/format.h"

#include <cstdio>

namespace luatrace {
namespace {

std::string short_chunk(const std::string& chunk) {
  if (chunk.starts_with('@') || chunk.starts_with('=')) return chunk.substr(1);
  size_t end = chunk.find('\n');
  std::string line = chunk.substr(0, std::min<size_t>(end, 40));
  return "[string \"" + line + (line.size() < chunk.size() ? "...\"]" : "\"]");
}

}  // namespace

std::string format_time(uint64_t ns) {
  static const struct {
    uint64_t unit;
    const char* name;
  } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
  char text[40];
  for (const auto& u : units) {
    if (ns < u.unit) continue;
    double value = static_cast<double>(ns) / static_cast<double>(u.unit);
    snprintf(text, sizeof text, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, u.name);
    return text;
  }
  return std::to_string(ns) + " ns";
}

std::string format_count(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string display_place(const ReportFunction& f) {
  if (f.chunk.empty()) return "";
  if (f.kind == "lua") return short_chunk(f.chunk) + ':' + std::to_string(f.line);
  return f.chunk;
}

std::string display_name(const ReportFunction& f) {
  if (f.kind == "lua" && f.line == 0) return "main chunk";
  if (!f.name.empty()) return f.name;
  if (f.kind == "root") return "all";
  std::string place = display_place(f);
  return place.empty() ? "?" : place.substr(f.kind == "lua" ? place.rfind('/') + 1 : 0);
}

std::string trust_line(const Report& report) {
  const Trust& t = report.trust;
  std::string out = format_count(t.events) + " events, " +
                    (t.lost ? format_count(t.lost) + " LOST" : std::string("none lost"));
  auto add = [&](uint64_t n, const char* what) {
    if (n) out += ", " + format_count(n) + ' ' + what;
  };
  add(t.bad_blocks, "BAD BLOCKS");
  add(t.bad_block_events, "events in them");
  add(t.missing_blocks, "BLOCKS MISSING");
  add(t.bad_records, "MALFORMED records");
  add(t.unbalanced, "UNBALANCED");
  add(t.truncated, "TRUNCATED calls");
  add(t.inferred, "INFERRED calls");
  add(t.clock_anomalies, "CLOCK ANOMALIES");
  add(t.undescribed, "functions WITHOUT DESCRIPTION");
  add(t.cut, "WITHOUT END (recording interrupted)");
  if (t.anomalies() == 0) out += ", nothing unbalanced, truncated, inferred or damaged";
  add(t.open_start, "calls open at the start");
  add(t.open_end, "calls open at the end");
  add(t.abandoned, "calls abandoned");
  add(t.unwound, "calls unwound by errors");
  add(t.unknown, "records of unknown kinds");
  if (report.gap_ns) out += ", " + format_time(report.gap_ns) + " unknown";
  return out;
}

}  // namespace luatrace
