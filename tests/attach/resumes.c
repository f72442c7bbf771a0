/*
** A program whose C code resumes coroutines, as servers do. A recorder attaches
** during the first lua_resume:
**
**   resumes DIR
**
** makes DIR/ready inside the coroutine, waits for DIR/go, and continues: the
** coroutine yields to the C code, which collects garbage on the stack of the
** suspended coroutine (finalizers run there), makes another coroutine from the
** main thread, which itself never runs Lua, and resumes both to their end.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lualib.h"

static const char *dir;

static const char script[] =
  "function leaf(x) return x end\n"
  "function final() leaf(0) end\n"
  "function litter() for i = 1, 3 do\n"
  "  local p = newproxy(true) getmetatable(p).__gc = final end end\n"
  "function inner(n) leaf(n) coroutine.yield(n) return leaf(n) end\n"
  "function body() gate() leaf(1)\n"
  "  litter() inner(2)\n"
  "  litter() inner(3)\n"
  "  return leaf(4) end\n"
  "function second() leaf(5) coroutine.yield() leaf(6) end\n";

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

static void say(const char *name)
{
  char path[1024];
  FILE *f;
  snprintf(path, sizeof(path), "%s/%s", dir, name);
  f = fopen(path, "w");
  if (f) fclose(f);
}

/* Waits; each protected call lets the VM look for a recorder. */
static int gate(lua_State *L)
{
  say("ready");
  while (!is_there("go")) {
    lua_pushcfunction(L, nothing);
    if (lua_pcall(L, 0, 0, 0)) exit(4);
    usleep(5000);
  }
  return 0;
}

static int resume(lua_State *co)
{
  int status = lua_resume(co, 0);
  if (status > LUA_YIELD) {
    fprintf(stderr, "resumes: %s\n", lua_tostring(co, -1));
    exit(4);
  }
  lua_settop(co, 0);
  return status == LUA_YIELD;
}

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate(), *co, *other;
  if (argc != 2 || !L) return 2;
  dir = argv[1];
  luaL_openlibs(L);
  lua_register(L, "gate", gate);
  if (luaL_dostring(L, script)) return 3;
  lua_gc(L, LUA_GCSTOP, 0);
  co = lua_newthread(L);
  lua_getglobal(co, "body");
  resume(co);  /* The recorder sees this resume end, but has not seen it begin. */
  lua_gc(co, LUA_GCCOLLECT, 0);
  lua_gc(co, LUA_GCSTOP, 0);
  other = lua_newthread(L);
  lua_getglobal(other, "second");
  while (resume(co)) {
    lua_gc(co, LUA_GCCOLLECT, 0);
    lua_gc(co, LUA_GCSTOP, 0);
    resume(other);
  }
  resume(other);
  lua_close(L);
  return 0;
}
