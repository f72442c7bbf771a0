// SPDX-License-Identifier: MIT
// Hooks: the tree of each call of a function, passed to a function of the program.
#pragma once

#include "lua.hpp"

namespace luatrace::module {

// Functions for Lua.
// hook(function, callback) or hook(table, field, callback) -> the function that removes the hook
int hook(lua_State* lua);
// to_json(tree) -> string
int to_json(lua_State* lua);

// Pushes a C function without events; `values` on top of the stack are its other upvalues.
void push_hidden(lua_State* lua, lua_CFunction function, int values = 0);
// Is the function at that index such a one, or Lua code of the module?
bool is_own(lua_State* lua, int index);

}  // namespace luatrace::module
