/* SPDX-License-Identifier: MIT */
/* Runs a program that has resume(f): C resumes a coroutine with f until it ends or fails. After that the VM's current
** coroutine is one that no longer runs.
**
**   resumed PROGRAM SECONDS on|off */
#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>

static int resume(lua_State *L) {
  lua_State *const co = lua_newthread(L);
  int status;
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  do status = lua_resume(co, 0), lua_settop(co, 0); while (status == LUA_YIELD);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  lua_State *const L = luaL_newstate();
  luaL_openlibs(L);
  if (argv[3][1] == 'f') luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  lua_register(L, "resume", resume);
  if (luaL_loadfile(L, argv[1])) return 1;
  lua_pushstring(L, argv[2]);
  return lua_pcall(L, 1, 0, 0);
}
