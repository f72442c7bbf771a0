// SPDX-License-Identifier: MIT
// Reads JSON (luatrace-analyze's) into Lua tables.
#pragma once

#include <string_view>

#include "lua.hpp"

namespace luatrace::module {

// Pushes the value, or throws a Lua error. null becomes nil: such members do not exist. Numbers are
// doubles: those above 2^53 are rounded. Up to 100 levels deep.
void push_json(lua_State* lua, std::string_view text);

}  // namespace luatrace::module
