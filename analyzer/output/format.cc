// SPDX-License-Identifier: MIT
#include "analyzer/output/format.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <span>

#include "analyzer/symbols/function_name.h"
#include "base/utf8.h"

namespace luatrace::analyze {
std::string format_time(uint64_t ns) {
  static const char* const kUnits[] = {"ns", "us", "ms", "s"};
  if (ns < 1000) return std::to_string(ns) + " ns";
  double value = static_cast<double>(ns) / 1000;
  size_t unit = 1;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); unit++) value /= 1000;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return decimal(value, digits) + ' ' + kUnits[unit];
}

std::string percentiles_text(const std::function<uint64_t(int)>& at) {
  std::string out;
  for (const int percent : {50, 90, 99})
    out += 'p' + std::to_string(percent) + ' ' + format_time(at(percent)) + ", ";
  return out + "max " + format_time(at(100));
}

std::string format_count(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string counted(uint64_t n, const std::string& one) {
  return format_count(n) + ' ' + one + (n == 1 ? "" : "s");
}

namespace {

struct Range {
  uint32_t first, last;
};
// Characters that terminals show two columns wide (East Asian, emoji) and those that combine with
// the previous one, by block: names rarely have them, and a line one column too long is harmless.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xa960, 0xa97f}, {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

bool is_in(std::span<const Range> ranges, uint32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

// Takes a character from the front of `text` and returns its width.
size_t take_character(std::string_view& text) {
  const auto [code, length] = read_utf8(text);
  text.remove_prefix(std::max<size_t>(length, 1));
  return code < 0x300 ? 1 : is_in(kCombining, code) ? 0 : is_in(kWide, code) ? 2 : 1;
}

// The longest beginning and the longest end of up to `width` columns.
std::string_view beginning(std::string_view text, size_t width) {
  std::string_view rest = text;
  size_t columns = 0;
  while (!rest.empty()) {
    std::string_view next = rest;
    if ((columns += take_character(next)) > width) break;
    rest = next;
  }
  return text.substr(0, text.size() - rest.size());
}

std::string_view ending(std::string_view text, size_t width) {
  for (size_t columns = text_width(text); columns > width;) columns -= take_character(text);
  return text;
}

}  // namespace

size_t text_width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const size_t plain = plain_length(text);  // Nearly always all of it.
    columns += plain;
    text.remove_prefix(plain);
    if (!text.empty()) columns += take_character(text);
  }
  return columns;
}

// Keeps the end, which has the file and line of a location, rather than the middle.
std::string cut_text(const std::string& text, size_t width) {
  if (text_width(text) <= width) return text;
  const size_t kept = width - std::min<size_t>(3, width), head = kept < 12 ? kept : kept / 3;
  std::string out(beginning(text, head));
  return (out += "...") += ending(text, kept - head);
}

std::string cut_share(const std::string& text, size_t width, int part, int parts) {
  if (text_width(text) <= width) return text;
  const size_t kept = width - std::min<size_t>(3, width);
  const size_t head = kept * static_cast<size_t>(part) / static_cast<size_t>(parts);
  return std::string(beginning(text, head)).append("...").append(ending(text, kept - head));
}

std::string cut_around(const std::string& text, size_t width, size_t at) {
  constexpr size_t kDots = 3, kHead = 4;
  if (text_width(text) <= width || width < 2 * kDots + kHead) return cut_text(text, width);
  at = std::min(at, text.size());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) at--;
  std::string out = std::string(beginning(std::string_view(text).substr(0, at), kHead)) + "...";
  const std::string_view rest = std::string_view(text).substr(at);
  const size_t left = width - text_width(out);
  if (text_width(rest) <= left) return out.append(rest);
  return out.append(beginning(rest, left - kDots)).append("...");
}

std::string cut_amount(const std::string& text, size_t width) {
  if (text_width(text) <= width) return text;
  const size_t unit = text.rfind(' ');
  const size_t number = unit == text.npos || unit == 0 ? text.npos : text.rfind(' ', unit - 1);
  if (number == text.npos) return cut_text(text, width);
  const size_t amount = text.size() - number;
  return cut_text(text.substr(0, number), width - std::min(width, amount)) + text.substr(number);
}

std::string cut_list(const std::string& text, size_t width) {
  if (text_width(text) <= width) return text;
  size_t end = text.rfind(", ");
  while (end != text.npos && text_width(text.substr(0, end)) + 5 > width)
    end = end == 0 ? text.npos : text.rfind(", ", end - 1);
  return end == text.npos ? "..." : text.substr(0, end) + ", ...";
}

namespace {

// Keeps only the end of a text that is too long.
std::string cut_front(const std::string& text, size_t width) {
  return std::string("...").append(ending(text, width - std::min<size_t>(3, width)));
}

// Cuts the folders of a path first. Without folders, or if the rest is too long, the middle.
std::string cut_path(const std::string& name, size_t width) {
  const std::string last = name.substr(name.rfind('/') + 1);
  if (text_width(name) <= width) return name;
  if (last.size() == name.size() || text_width(last) > width) return cut_text(last, width);
  return text_width(last) + 3 <= width ? cut_front(name, width) : last;
}

}  // namespace

// Cuts first the indentation, then the folders of the location, then the location, then the name.
std::string cut_name(const std::string& text, size_t width) {
  if (text_width(text) <= width) return text;
  constexpr size_t kMinWidth = 10, kShortPlace = 12, kBrackets = 4, kLong = 30;
  size_t indent = std::min(text.find_first_not_of(' '), text.size());
  const size_t middle = text.rfind("  (");
  const bool placed = middle != text.npos && middle > indent && text.ends_with(')');
  const std::string name = text.substr(indent, placed ? middle - indent : text.npos);
  const std::string place = placed ? text.substr(middle + 3, text.size() - middle - 4) : "";
  // A main chunk is known by its whole name, without folders.
  const size_t last = place == kMainChunk ? text_width(name.substr(name.rfind('/') + 1)) : 0;
  indent = std::min(indent, width - std::min(width, std::max(kMinWidth, last)));
  const size_t space = width - indent, needed = text_width(name) + kBrackets;
  const std::string blank(indent, ' ');
  if (place == kMainChunk && needed + place.size() > space) return blank + cut_path(name, space);
  if (!placed || needed + kShortPlace > space) return blank + cut_text(name, space);
  const size_t left = space - needed;
  if (text_width(place) <= left) return blank + name + "  (" + place + ')';
  return blank + name + "  (" + (left < kLong ? cut_front(place, left) : cut_text(place, left)) +
         ')';
}

std::string DistinctNames::add(const std::string& name) {
  const auto [known, fresh] = numbers_.try_emplace(name, 1);
  if (fresh) return name;
  size_t& number = known->second;
  while (true) {
    std::string text = name + " #" + std::to_string(++number);
    if (numbers_.try_emplace(text, 1).second) return text;
  }
}

namespace {

// Takes up to `width` columns from a word; fewer if it can be broken after a punctuation mark.
std::string_view take_piece(std::string_view& word, size_t width) {
  std::string_view piece = beginning(word, width);
  const size_t mark = piece.find_last_of("/,=;:");
  if (mark != piece.npos && mark >= piece.size() / 2) piece = piece.substr(0, mark + 1);
  word.remove_prefix(piece.size());
  return piece;
}

}  // namespace

std::string wrapped(const std::string& text, size_t width, size_t at, size_t indent) {
  if (width == 0 || at + text_width(text) <= width) return text;
  constexpr size_t kMinWidth = 8;  // Minimum of a line, however narrow.
  const size_t line_width = std::max(width - std::min(width, indent), kMinWidth);
  std::string out;
  auto next_line = [&] {
    out += '\n' + std::string(indent, ' ');
    at = indent;
  };
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(' ', from), text.size());
    std::string_view word = std::string_view(text).substr(from, end - from);
    if (from && at + 1 + text_width(word) > width)
      next_line();
    else if (from)
      out += ' ', at++;
    else if (at > indent && at + text_width(word) > width)
      next_line();
    while (beginning(word, line_width).size() < word.size()) {
      out += take_piece(word, line_width);
      next_line();
    }
    out += word;
    at += text_width(word);
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

std::string no_formula(const std::string& text) {
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != text.npos;
  return formula ? '\'' + text : text;
}

std::string csv_text(const std::string& text) {
  const std::string cell = no_formula(text);
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string decimal(double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// "1,000 samples, none lost, 3 with truncated stacks, 12 unknown frames": what is known of samples
// without the anomalies.
static std::string samples_text(const Report& r) {
  const SampleSums& s = r.samples;
  const bool waits = r.sampled == SampleKind::kOffCpu;
  std::string out = counted(s.samples, waits ? "wait" : "sample") + ", " +
                    (r.trust.lost ? format_count(r.trust.lost) + " LOST" : "none lost");
  if (s.truncated) out += ", " + format_count(s.truncated) + " with truncated stacks";
  if (s.unknown_frames) out += ", " + counted(s.unknown_frames, "unknown frame");
  if (s.filtered) out += ", " + format_count(s.filtered) + " filtered out";
  if (s.others)
    out += ", " + counted(s.others, waits ? "sample" : "wait") + " not shown (" +
           (waits ? "without " : "") + "--off-cpu)";
  return out;
}

std::string trust_line(const Report& report) {
  const Trust& t = report.trust;
  std::string out = format_count(t.events) + " events, ";
  if (t.lost && t.lost_at_least) out += "at least ";
  out += t.lost ? format_count(t.lost) + " LOST" : "none lost";
  if (report.is_sampled()) out = samples_text(report);
  auto add = [&](uint64_t n, const char* what) {
    if (n) out += ", " + format_count(n) + ' ' + what;
  };
  add(t.bad_blocks, "BAD BLOCKS");
  add(t.bad_block_events, "events in them");
  add(t.missing_blocks, "BLOCKS MISSING");
  add(t.bad_records, "MALFORMED records");
  add(t.unbalanced, "UNBALANCED");
  add(t.truncated, "TRUNCATED calls");
  add(t.clock_anomalies, "CLOCK ANOMALIES");
  add(t.undescribed, "functions WITHOUT DESCRIPTION");
  add(t.cut, "WITHOUT END (recording interrupted)");
  if (t.anomalies() == 0)
    out += report.is_sampled() ? ", nothing damaged"
                               : ", nothing unbalanced, truncated, inferred or damaged";
  add(t.open_start, "calls open at the start");
  add(t.open_end, "calls open at the end");
  add(t.abandoned, "calls abandoned");
  add(t.unwound, "calls unwound by errors");
  add(t.unknown, "records of unknown kinds");
  if (report.gap_ns) out += ", " + format_time(report.gap_ns) + " unknown";
  if (report.apportioned_ns && report.self_ns)
    out +=
        ", " +
        decimal(100.0 * static_cast<double>(report.apportioned_ns) /
                    static_cast<double>(report.self_ns),
                1) +
        " % of the time apportioned inside compiled segments" +
        (report.weight_samples ? " (by " + format_count(report.weight_samples) + " samples)" : "");
  return out;
}

}  // namespace luatrace::analyze
