/* SPDX-License-Identifier: MIT
** Debug hooks in C, which can do what those in Lua cannot: yield, and fail at any instruction.
**
**   yielding(f, mask, count)  calls f in a coroutine whose hook yields each time; number of yields
**   failing(f, mask, every)   calls f with a hook that raises an error every N times ("n": of
**                             instructions); true if none came through; table: line of the
**                             function -> calls that failed before they began
*/
#include <string.h>

#include "lauxlib.h"
#include "lua.h"

static int every, turn;
static int failed[1000]; /* By the line of the function. */

static int mask_of(const char *letters, int count)
{
  int mask = count > 0 ? LUA_MASKCOUNT : 0;
  if (strchr(letters, 'l')) mask |= LUA_MASKLINE;
  if (strchr(letters, 'c')) mask |= LUA_MASKCALL;
  if (strchr(letters, 'r')) mask |= LUA_MASKRET;
  return mask;
}

static void yield_hook(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  if (lua_isyieldable(L)) lua_yield(L, 0);
}

static int yielding(lua_State *L)
{
  int mask = mask_of(luaL_checkstring(L, 2), luaL_checkint(L, 3));
  lua_State *co = lua_newthread(L);
  int status, n = -1;
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  do {
    lua_sethook(co, yield_hook, mask, luaL_checkint(L, 3));
    status = lua_resume(co, 0);
    lua_sethook(co, NULL, 0, 0);
    n++;
  } while (status == LUA_YIELD);
  if (status != 0) {
    lua_xmove(co, L, 1);
    return lua_error(L);
  }
  lua_pushinteger(L, n);
  return 1;
}

static void failing_hook(lua_State *L, lua_Debug *ar)
{
  if (++turn % every != 0) return;
  if (ar->event == LUA_HOOKCALL && lua_getinfo(L, "S", ar) && *ar->what == 'L')
    failed[ar->linedefined % 1000]++;
  luaL_error(L, "by the hook");
}

static int failing(lua_State *L)
{
  const char *letters = luaL_checkstring(L, 2);
  int line, status;
  every = luaL_checkint(L, 3);
  turn = 0;
  memset(failed, 0, sizeof(failed));
  lua_pushvalue(L, 1);
  lua_sethook(L, failing_hook, mask_of(letters, *letters == 'n'), 1);
  status = lua_pcall(L, 0, 0, 0);
  lua_sethook(L, NULL, 0, 0);
  lua_pushboolean(L, status == 0);
  lua_newtable(L);
  for (line = 0; line < 1000; line++) {
    lua_pushinteger(L, failed[line]);
    lua_rawseti(L, -2, line);
  }
  return 2;
}

int luaopen_hooks_module(lua_State *L)
{
  static const luaL_Reg functions[] = {
      {"yielding", yielding}, {"failing", failing}, {NULL, NULL}};
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  return 1;
}
