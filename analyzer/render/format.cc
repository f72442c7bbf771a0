// SPDX-License-Identifier: MIT
#include "analyzer/render/format.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace luatrace {
std::string format_time(uint64_t ns) {
  static const char* const kUnits[] = {"ns", "us", "ms", "s"};
  if (ns < 1000) return std::to_string(ns) + " ns";
  double value = static_cast<double>(ns) / 1000;
  size_t unit = 1;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); unit++) value /= 1000;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return decimal(value, digits) + ' ' + kUnits[unit];
}

std::string format_count(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string counted(uint64_t n, const std::string& one) {
  return format_count(n) + ' ' + one + (n == 1 ? "" : "s");
}

size_t text_width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The end says more than the middle: file and line of a place.
std::string cut_text(const std::string& text, size_t most) {
  const size_t all = text_width(text);
  if (all <= most) return text;
  const size_t kept = most - std::min<size_t>(3, most), head = kept < 12 ? kept : kept / 3;
  std::string out;
  size_t n = 0;  // Characters so far.
  for (char c : text) {
    if ((c & 0xc0) != 0x80 && ++n == head + 1) out += "...";
    if (n <= head || n > all - (kept - head)) out += c;
  }
  return out;
}

std::string wrapped(const std::string& text, size_t width, size_t at, size_t indent) {
  if (width == 0 || at + text_width(text) <= width) return text;
  std::string out;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, end - from);
    const size_t length = text_width(word);
    if (from && at + 1 + length > width) {
      out += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (from) {
      out += ' ';
      at++;
    }
    out += word;
    at += length;
    from = end + 1;
  }
  return out;
}

std::string format_date(uint64_t real_ns) {
  auto seconds = static_cast<time_t>(real_ns / 1000000000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64], out[80];
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  snprintf(out, sizeof out, "%s.%06u", text, static_cast<unsigned>(real_ns % 1000000000 / 1000));
  return out;
}

std::string format_moment(uint64_t ns, uint64_t start_real_ns) {
  std::string out = decimal(static_cast<double>(ns) / 1e9, 6) + " s";
  return start_real_ns ? out + " (" + format_date(start_real_ns + ns) + " UTC)" : out;
}

std::string decimal(double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
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
