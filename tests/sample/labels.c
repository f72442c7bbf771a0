/* SPDX-License-Identifier: MIT */
/* Runs labels.lua with label(KEY, VALUE), a new Lua VM each time.
**
**   labels FILE SECONDS VMS */
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>
#include <luatrace.h>

static int label(lua_State *L) {
  const char *const why = luaJIT_trace_label(L, luaL_checkstring(L, 1), luaL_optstring(L, 2, NULL));
  return why != NULL ? luaL_error(L, "%s", why) : 0;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  for (int vm = 1; vm <= atoi(argv[3]); vm++) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "label", label);
    lua_pushinteger(L, vm);
    lua_setglobal(L, "vm");
    lua_pushnumber(L, atof(argv[2]));
    lua_setglobal(L, "seconds");
    if (luaL_dofile(L, argv[1])) return fprintf(stderr, "%s\n", lua_tostring(L, -1)), 1;
    lua_close(L);
  }
  return 0;
}
