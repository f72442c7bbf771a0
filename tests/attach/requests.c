/*
** A program whose C code says which request a coroutine works for, as OpenResty does: entry
** coroutines, one that is used again, and phases on the main coroutine.
**
**   requests DIR
**
** The first request is suspended while the program makes DIR/ready and waits for DIR/go.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lualib.h"

#define FIRST ((void *)0x1000)
#define SECOND ((void *)0x2000)
#define THIRD ((void *)0x3000)

static const char *dir;

static const char script[] =
  "function phase() end\n"
  "function content() sleep() sleep() end\n"
  "function inner() coroutine.yield() end\n"
  "function spawns() local co = coroutine.create(inner) coroutine.resume(co) end\n";

static int sleeps(lua_State *L)
{
  return lua_yield(L, 0);
}

static int nothing(lua_State *L)
{
  (void)L;
  return 0;
}

static int is_there(const char *name)
{
  char path[1024];
  snprintf(path, sizeof(path), "%s/%s", dir, name);
  return access(path, F_OK) == 0;
}

/* Each protected call lets the VM look for a recorder. */
static void gate(lua_State *L)
{
  char path[1024];
  FILE *f;
  int i;
  snprintf(path, sizeof(path), "%s/ready", dir);
  if ((f = fopen(path, "w")) != NULL) fclose(f);
  for (i = 0; i < 12000 && !is_there("go"); i++) {
    lua_pushcfunction(L, nothing);
    if (lua_pcall(L, 0, 0, 0)) exit(4);
    usleep(5000);
  }
}

static void resume(lua_State *co)
{
  if (lua_resume(co, 0) > LUA_YIELD) {
    fprintf(stderr, "requests: %s\n", lua_tostring(co, -1));
    exit(4);
  }
  lua_settop(co, 0);
}

static void begin(lua_State *co, void *request, const char *body)
{
  lua_setexdata(co, request);
  lua_getglobal(co, body);
  resume(co);
}

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate(), *co, *other;
  if (argc != 2 || !L) return 2;
  dir = argv[1];
  luaL_openlibs(L);
  lua_register(L, "sleep", sleeps);
  if (luaL_dostring(L, script)) return 3;
  lua_gc(L, LUA_GCSTOP, 0);
  co = lua_newthread(L);
  begin(co, FIRST, "content");
  gate(L);
  other = lua_newthread(L);
  begin(other, SECOND, "spawns");
  resume(co);
  resume(co);
  lua_resetthread(L, co);
  begin(co, THIRD, "content");
  lua_setexdata(L, FIRST);
  lua_getglobal(L, "phase");
  if (lua_pcall(L, 0, 0, 0)) return 4;
  lua_setexdata(L, NULL);
  lua_close(L);
  return 0;
}
