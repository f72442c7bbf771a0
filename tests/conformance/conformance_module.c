/*
** A C module for the tests: functions of the class "user" that call, fail,
** yield and resume.
** SPDX-License-Identifier: MIT
*/

#include "lauxlib.h"
#include "lua.h"

/* add(a, b) */
static int conf_add(lua_State *L) {
  lua_pushnumber(L, luaL_checknumber(L, 1) + luaL_checknumber(L, 2));
  return 1;
}

/* call(f, ...): f's results; errors pass through. */
static int conf_call(lua_State *L) {
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* pcall(f, ...): true or false. */
static int conf_pcall(lua_State *L) {
  lua_pushboolean(L, lua_pcall(L, lua_gettop(L) - 1, 0, 0) == 0);
  return 1;
}

/* fail(message) */
static int conf_fail(lua_State *L) {
  return luaL_error(L, "%s", luaL_checkstring(L, 1));
}

/* yield(...): what the next resume gives. */
static int conf_yield(lua_State *L) {
  return lua_yield(L, lua_gettop(L));
}

/* resume(f, x): makes a coroutine, resumes it with x and then with what it
** yielded; gives its result. Errors pass through. */
static int conf_resume(lua_State *L) {
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushvalue(L, 2);
  lua_xmove(L, co, 1);
  if (lua_resume(co, 1) == LUA_YIELD) lua_resume(co, lua_gettop(co));
  if (lua_status(co) > LUA_YIELD) {
    lua_xmove(co, L, 1);
    return lua_error(L);
  }
  lua_xmove(co, L, 1);
  return 1;
}

static const luaL_Reg conf_functions[] = {
    {"add", conf_add},   {"call", conf_call},   {"pcall", conf_pcall},
    {"fail", conf_fail}, {"yield", conf_yield}, {"resume", conf_resume},
    {NULL, NULL},
};

int luaopen_conformance_module(lua_State *L);
int luaopen_conformance_module(lua_State *L) {
  lua_newtable(L);
  luaL_register(L, NULL, conf_functions);
  return 1;
}
