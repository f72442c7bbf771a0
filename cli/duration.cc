// SPDX-License-Identifier: MIT
#include "cli/duration.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace luatrace {

double unit_ns(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  static constexpr Unit kUnits[] = {{"ns", 1},  {"us", 1e3}, {"µs", 1e3},  {"ms", 1e6},
                                    {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}};
  for (const Unit& u : kUnits)
    if (unit == u.name) return u.ns;
  return 0;
}

std::optional<uint64_t> duration_ns(std::string_view text, double plain_ns) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const double scale = unit.empty() ? plain_ns : unit_ns(unit);
  if (scale == 0 || value * scale >= 1.8e19) return std::nullopt;
  return static_cast<uint64_t>(std::llround(std::min(value * scale, 9.2e18)));
}

}  // namespace luatrace
