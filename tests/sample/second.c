/* SPDX-License-Identifier: MIT */
/* A library with a Lua VM of a LuaJIT of its own: runs code on a thread. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lauxlib.h"
#include "lualib.h"

static void *run(void *code) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_loadbuffer(L, code, strlen(code), "=second") || lua_pcall(L, 0, 0, 0)) puts(lua_tostring(L, -1));
  lua_close(L);
  return NULL;
}

void second_runs(const char *code) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, (void *)code);
  pthread_join(thread, NULL);
}
