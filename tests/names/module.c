/* SPDX-License-Identifier: MIT */
/* A module whose C functions are named only by its symbols. */
#include "lauxlib.h"
#include "lua.h"

static int module_add(lua_State *L) {
  lua_pushnumber(L, lua_tonumber(L, 1) + lua_tonumber(L, 2));
  return 1;
}

int luaopen_module(lua_State *L) {
  lua_newtable(L);
  lua_pushcfunction(L, module_add);
  lua_setfield(L, -2, "plus");
  return 1;
}
