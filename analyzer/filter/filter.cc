// SPDX-License-Identifier: MIT
#include "analyzer/filter/filter.h"

#include <charconv>
#include <cstdio>
#include <ctime>
#include <set>
#include <utility>

#include "cli/duration.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

// Removes a number from the beginning of `text`. False if there is none between 0 and 1e19.
bool take_number(std::string& text, double& value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0) || value > 1e19) return false;
  text.erase(0, static_cast<size_t>(end - text.data()));
  return true;
}

// Parses seconds with a fraction exactly: a double has too few digits for ns since the Unix epoch.
bool exact_seconds(const std::string& text, uint64_t& ns) {
  size_t point = text.find('.');
  std::string whole = text.substr(0, point);
  std::string part = point == text.npos ? "" : text.substr(point + 1);
  if (whole.empty() || whole.size() > 10 || part.size() > 9) return false;
  if ((whole + part).find_first_not_of("0123456789") != std::string::npos) return false;
  part.resize(9, '0');
  ns = std::stoull(whole) * 1000000000 + std::stoull(part);
  return true;
}

// Parses 2026-11-21T10:00:00[.25][Z], in UTC.
bool date(std::string text, uint64_t& ns) {
  if (text.ends_with('Z')) text.pop_back();
  tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest) return false;
  time_t seconds = timegm(&parts);
  return seconds >= 0 && (*rest == 0 || *rest == '.') &&
         exact_seconds(std::to_string(seconds) + rest, ns);
}

// Parses 14:00[:30[.25]], up to 24:00.
bool time_of_day(const std::string& text, uint64_t& ns) {
  tm parts{};
  const char* rest = text.find(':') == 2 ? strptime(text.c_str(), "%H:%M", &parts) : nullptr;
  const bool midnight = text.starts_with("24:00") && text.find_first_not_of("0:.", 5) == text.npos;
  if (midnight) rest = text.c_str() + 5, parts.tm_hour = 24;
  uint64_t second = 0;
  if (!rest || (*rest && (*rest != ':' || !exact_seconds(rest + 1, second)))) return false;
  ns = static_cast<uint64_t>(parts.tm_hour * 60 + parts.tm_min) * 60000000000 + second;
  return second < 60000000000;
}

TimePoint parse_point(const std::string& text) {
  TimePoint out;
  if (text.empty()) return out;
  if (time_of_day(text, out.ns)) {
    out.kind = TimePoint::kTimeOfDay;
    return out;
  }
  if (text.starts_with('@') ? exact_seconds(text.substr(1), out.ns) : date(text, out.ns)) {
    out.kind = TimePoint::kAbsolute;
    return out;
  }
  std::string rest = text;
  if (take_number(rest, out.percent) && rest == "%") {
    if (out.percent > 100)
      throw UsageError("--time-range: '" + text + "' is out of range; the maximum is 100%");
    out.kind = TimePoint::kPercent;
    return out;
  }
  out.kind = TimePoint::kRelative;
  out.ns = parse_time(text, "--time-range");
  return out;
}

// Returns the same text for the same time, whatever the user wrote.
std::string time_text(uint64_t ns) {
  static constexpr std::pair<uint64_t, const char*> kUnits[] = {
      {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
  for (const auto& [unit, name] : kUnits)
    if (ns && ns % unit == 0) return std::to_string(ns / unit) + name;
  return std::to_string(ns) + "ns";
}

std::string point_text(const TimePoint& p) {
  if (p.kind == TimePoint::kRelative) return time_text(p.ns);
  if (p.kind == TimePoint::kAbsolute) {
    const std::string part = std::to_string(1000000000 + p.ns % 1000000000).substr(1);
    return '@' + std::to_string(p.ns / 1000000000) + '.' + part;
  }
  if (p.kind == TimePoint::kTimeOfDay) {
    const uint64_t s = p.ns / 1000000000, part = p.ns % 1000000000;
    char day[16];
    std::snprintf(day, sizeof day, "%02u:%02u:%02u", static_cast<unsigned>(s / 3600 % 100),
                  static_cast<unsigned>(s / 60 % 60), static_cast<unsigned>(s % 60));
    return day + (part ? '.' + std::to_string(1000000000 + part).substr(1) : "");
  }
  if (p.kind != TimePoint::kPercent) return "";
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof text, p.percent);
  return std::string(text, end) + '%';
}

// Quotes `word` for a shell if necessary.
std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\$*?()[]{}|&;<>#~`!") == word.npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

// Builds the text of repeatable options; their order and repetition make no difference.
class ChoiceWords {
 public:
  template <class T, class Text>
  void add(const char* option, const std::vector<T>& values, Text text) {
    std::set<std::string> words;
    for (const T& value : values) words.insert(text(value));
    for (const std::string& word : words) add(option + (' ' + quoted(word)));
  }
  void add(const std::string& words) { all_ += (all_.empty() ? "" : " ") + words; }
  const std::string& text() const { return all_; }

 private:
  std::string all_;
};

}  // namespace

std::string coroutine_text(const CoroutineFilter& filter) {
  const std::string id = std::to_string(filter.id);
  if (filter.vm) return std::to_string(filter.vm) + ':' + id;
  if (filter.address == 0) return id;
  char address[20];
  std::snprintf(address, sizeof address, "@%llx:", static_cast<unsigned long long>(filter.address));
  return address + id;
}

std::string range_text(const FilterOptions& f) {
  return "-r " + point_text(f.from) + '~' + point_text(f.to);
}

FilterSignature signature_of(const FilterOptions& f) {
  ChoiceWords words;
  auto same = [](const std::string& text) { return text; };
  auto number = [](uint32_t n) { return std::to_string(n); };
  words.add("-F", f.only, same);
  words.add("-N", f.without, same);
  words.add("-C", f.callers, same);
  words.add("-H", f.hide, same);
  words.add("--function", f.functions, same);
  words.add("--kind", f.kinds, kind_name);
  if (f.depth) words.add("-D " + number(f.depth));
  if (f.min_ns) words.add("-t " + time_text(f.min_ns));
  if (f.has_range()) words.add(range_text(f));
  words.add("--thread", f.threads, number);
  words.add("--coroutine", f.coroutines, coroutine_text);
  words.add("--vm", f.vms, number);
  if (f.mode == CoroutineMode::kSeparate) words.add("--coroutines=separate");
  if (f.mode == CoroutineMode::kMerged) words.add("--coroutines=merged");
  // Their order makes a difference: the first that matches names the group.
  for (const std::string& pattern : f.plugins) words.add("--plugin " + quoted(pattern));
  return {f.group == GroupBy::kNone ? ""
          : f.group_pattern.empty() ? kGroupNames[static_cast<int>(f.group)]
                                    : f.group_pattern,
          words.text()};
}

std::vector<std::string> FilterOptions::group_patterns() const {
  if (group == GroupBy::kPattern) return {group_pattern};
  if (group != GroupBy::kPlugin) return {};
  return plugins.empty() ? kPluginPatterns : plugins;
}

bool FilterOptions::filters_calls() const {
  return !only.empty() || !without.empty() || !callers.empty() || !hide.empty() ||
         !functions.empty() || !kinds.empty() || depth || min_ns || !threads.empty() ||
         !vms.empty() || !coroutines.empty();
}

uint64_t parse_time(const std::string& text, const std::string& option) {
  if (auto ns = duration_ns(text, 1)) return *ns;
  throw UsageError(option + ": '" + text + "' is not a time (" + kTimeExamples + ')');
}

void parse_time_range(const std::string& text, TimePoint& from, TimePoint& to) {
  size_t middle = text.find('~');
  if (middle == text.npos || text == "~")
    throw UsageError("--time-range: invalid value '" + text + "'; write FROM~TO, FROM~ or ~TO");
  from = parse_point(text.substr(0, middle));
  to = parse_point(text.substr(middle + 1));
}

}  // namespace luatrace::analyze
