// SPDX-License-Identifier: MIT
// Fields of the Lua table on top of the stack.
#pragma once

#include "lua.hpp"

namespace luatrace::module {

inline void set(lua_State* lua, const char* field, double value) {
  lua_pushnumber(lua, value);
  lua_setfield(lua, -2, field);
}

}  // namespace luatrace::module
