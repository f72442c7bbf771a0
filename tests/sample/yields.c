/* SPDX-License-Identifier: MIT */
/* Resumes a coroutine that only yields, by lua_resume() from outside of Lua.
**
**   yields SECONDS on|off */
#include <stdlib.h>
#include <time.h>

#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  lua_State *const L = luaL_newstate();
  luaL_openlibs(L);
  if (argv[2][1] == 'f') luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  if (luaL_dostring(L, "local yield = coroutine.yield return function() while true do yield() end end")) return 1;
  lua_State *const co = lua_newthread(L);
  lua_pushvalue(L, -2);
  lua_xmove(L, co, 1);
  while (clock() < atof(argv[1]) * CLOCKS_PER_SEC)
    for (int i = 0; i < 10000; i++) lua_resume(co, 0);
  return 0;
}
