// SPDX-License-Identifier: MIT
// Digits that fit into 53 bits, times or divided by a power of ten that is exact, too, are rounded
// once, so the result is the nearest double. What has more becomes a string for LuaJIT, which then
// has to collect it.
#include "module/number.h"

#include <algorithm>
#include <cstdint>

namespace luatrace::module {
namespace {

constexpr std::string_view kCharacters = "0123456789+-.eE";
constexpr uint64_t kMaxDigits = (uint64_t{1} << 53) / 10 - 1;  // One more digit fits.
constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Digits with a point among them at the most, and a sign before them.
bool take_simple(std::string_view text, double* number) {
  const bool negative = text.starts_with('-');
  uint64_t digits = 0;
  size_t decimals = 0;
  bool has_point = false;
  if (negative) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return false;
  for (const char c : text) {
    if (c == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (!is_digit(c) || digits > kMaxDigits) return false;
    digits = digits * 10 + static_cast<uint64_t>(c - '0');
    decimals += has_point;
  }
  if (decimals >= std::size(kPowers)) return false;
  *number = static_cast<double>(digits) / kPowers[decimals];
  if (negative) *number = -*number;
  return true;
}

bool take_any(lua_State* lua, std::string_view text, double* number) {
  lua_pushlstring(lua, text.data(), text.size());
  const bool is = lua_isnumber(lua, -1) != 0;
  if (is) *number = lua_tonumber(lua, -1);
  lua_pop(lua, 1);
  return is;
}

}  // namespace

bool take_number(lua_State* lua, std::string_view* text, double* number) {
  const std::string_view all = text->substr(0, text->find_first_not_of(kCharacters));
  if (!take_simple(all, number) && !take_any(lua, all, number)) return false;
  text->remove_prefix(all.size());
  return true;
}

}  // namespace luatrace::module
