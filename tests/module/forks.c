/* A server that forks its workers; they make their coroutines before any Lua code runs.
** SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int calls(lua_State *L)
{
  return luaL_dostring(L, "local function work() end for _ = 1, 10 do work() end");
}

static int worker(lua_State *L)
{
  lua_State *co = lua_newthread(L);
  int failed = luaL_loadstring(co, "local function work() end work() coroutine.yield() work()");
  failed |= lua_resume(co, 0) != LUA_YIELD || lua_resume(co, 0) != 0;
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  return failed || calls(L);
}

int main(void)
{
  lua_State *L = luaL_newstate();
  int i, status, failed;
  luaL_openlibs(L);
  failed = calls(L);
  for (i = 0; i < 3; i++)
    if (fork() == 0) {
      failed = worker(L);
      lua_close(L);
      exit(failed);
    }
  for (i = 0; i < 3; i++) failed |= wait(&status) < 0 || status;
  lua_close(L);
  return failed;
}
