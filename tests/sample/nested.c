/* SPDX-License-Identifier: MIT */
/* Two Lua VMs on one thread, which call each other through C functions: a calls b, which calls a ...
**
**   nested FILE SECONDS plain|coroutines on|off WORK */
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>

static lua_State *vms[2]; /* the coroutines that run */

/* Calls step(N) in the other VM, in the coroutine that has called this one. */
__attribute__((noinline)) static int other(lua_State *L) {
  const int number = (int)lua_tointeger(L, lua_upvalueindex(1));
  lua_State *const to = vms[number], *const was = vms[1 - number];
  vms[1 - number] = L;
  lua_getglobal(to, "step");
  lua_pushinteger(to, lua_tointeger(L, 1));
  lua_call(to, 1, 0);
  vms[1 - number] = was;
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  for (int i = 0; i < 2; i++) {
    lua_State *const L = vms[i] = luaL_newstate();
    luaL_openlibs(L);
    if (argv[4][1] == 'f') luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    lua_pushinteger(L, 1 - i);
    lua_pushcclosure(L, other, 1);
    lua_setglobal(L, "other");
    lua_pushstring(L, argv[3]);
    lua_setglobal(L, "mode");
    lua_pushnumber(L, atof(argv[2]));
    lua_setglobal(L, "seconds");
    lua_pushnumber(L, atof(argv[5]));
    lua_setglobal(L, "work");
    FILE *const f = fopen(argv[1], "r");
    static char text[4096];
    if (f == NULL) return 1;
    const size_t size = fread(text, 1, sizeof text, f);
    fclose(f);
    if (luaL_loadbuffer(L, text, size, i == 0 ? "=a" : "=b") || lua_pcall(L, 0, 0, 0))
      return fprintf(stderr, "%s\n", lua_tostring(L, -1)), 1;
  }
  lua_getglobal(vms[0], "run");
  if (lua_pcall(vms[0], 0, 0, 0)) return fprintf(stderr, "%s\n", lua_tostring(vms[0], -1)), 1;
  return 0;
}
