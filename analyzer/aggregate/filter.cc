// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/filter.h"

#include <charconv>
#include <ctime>

#include "cli/duration.h"
#include "cli/usage_error.h"

namespace luatrace {
namespace {

// The number at the beginning of `text`; what follows it stays there. False if there is none.
bool take_number(std::string& text, double& value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0) || value > 1e19) return false;
  text.erase(0, static_cast<size_t>(end - text.data()));
  return true;
}

// Seconds and a fraction, exactly (a double has not enough digits for nanoseconds since 1970).
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

// 2026-11-21T10:00:00[.25][Z]
bool date(std::string text, uint64_t& ns) {
  if (text.ends_with('Z')) text.pop_back();
  tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest) return false;
  time_t seconds = timegm(&parts);
  return seconds >= 0 && (*rest == 0 || *rest == '.') &&
         exact_seconds(std::to_string(seconds) + rest, ns);
}

TimePoint parse_point(const std::string& text) {
  TimePoint out;
  if (text.empty()) return out;
  if (text.starts_with('@') ? exact_seconds(text.substr(1), out.ns) : date(text, out.ns)) {
    out.kind = TimePoint::kAbsolute;
    return out;
  }
  std::string rest = text;
  if (take_number(rest, out.percent) && rest == "%") {
    if (out.percent > 100) throw UsageError("--time-range: " + text + " is more than 100 %");
    out.kind = TimePoint::kPercent;
    return out;
  }
  out.kind = TimePoint::kRelative;
  out.ns = parse_time(text, "--time-range");
  return out;
}

}  // namespace

bool FilterOptions::filters() const {
  return !only.empty() || !without.empty() || !callers.empty() || !hide.empty() ||
         !functions.empty() || !kinds.empty() || depth || least_ns || has_range() ||
         !threads.empty() || !states.empty() || !coroutines.empty();
}

uint64_t parse_time(const std::string& text, const std::string& option) {
  if (auto ns = duration_ns(text, 1)) return *ns;
  throw UsageError(option + ": '" + text + "' is no time (" + kTimeExamples + ')');
}

void parse_time_range(const std::string& text, TimePoint& from, TimePoint& to) {
  size_t middle = text.find('~');
  if (middle == text.npos || text == "~")
    throw UsageError("--time-range: FROM~TO, of which one may be missing, not '" + text + "'");
  from = parse_point(text.substr(0, middle));
  to = parse_point(text.substr(middle + 1));
}

}  // namespace luatrace
