// SPDX-License-Identifier: MIT
// Numbers of JSON as doubles, whatever the process's locale is. (std::from_chars would need the C++
// library, which musl's systems may not have.)
#pragma once

#include <string_view>

#include "lua.hpp"

namespace luatrace::module {

// The number that the text begins with; the rest stays in *text. False: there is none. Up to 2^53
// it is exact, with decimals the nearest double; others are LuaJIT's.
bool take_number(lua_State* lua, std::string_view* text, double* number);

}  // namespace luatrace::module
