// SPDX-License-Identifier: MIT
// Numbers of JSON: the same doubles as strtod's in the C locale.
#include "module/number.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

using luatrace::module::take_number;

struct Lua {
  lua_State* state = luaL_newstate();
  ~Lua() { lua_close(state); }
};

TEST(JsonNumbers, AreTheNearestDoubles) {
  const Lua lua;
  std::mt19937_64 random(1);
  const int top = lua_gettop(lua.state);
  for (const char* format : {"%.0f", "%.1f", "%.3f", "%.8f", "%.9f", "%g", "%.17g", "%e"})
    for (int i = 0; i < 20000; i++) {
      const double scale = std::uniform_real_distribution<>(-300, 40)(random);
      char text[512];
      std::snprintf(text, sizeof text, format,
                    std::normal_distribution<>()(random) * (i % 2 ? 1e6 : std::exp(scale)));
      std::string_view rest = text;
      double number = 0;
      ASSERT_TRUE(take_number(lua.state, &rest, &number)) << text;
      EXPECT_TRUE(rest.empty()) << text;
      ASSERT_EQ(std::strtod(text, nullptr), number) << text;
    }
  EXPECT_EQ(top, lua_gettop(lua.state));
}

TEST(JsonNumbers, EndWhereTheTextGoesOn) {
  const Lua lua;
  std::string_view rest = "9007199254740993, 1";
  double number = 0;
  ASSERT_TRUE(take_number(lua.state, &rest, &number));
  EXPECT_EQ(9007199254740992.0, number);
  EXPECT_EQ(", 1", rest);
  for (std::string_view none : {"", "x", "-", ".", "\"1\"", "null", "0x10", "nan", "1e", "1.2.3"}) {
    const std::string_view before = none;
    number = 7;
    const bool is = take_number(lua.state, &none, &number);
    EXPECT_EQ(before == "0x10", is) << before;  // 0, and then x10, which the caller refuses
    if (!is) {
      EXPECT_EQ(before, none);
      EXPECT_EQ(7, number);
    }
  }
}

}  // namespace
