/*
** A program that runs LuaJIT as a library: host FILE [ARGUMENT...]
** SPDX-License-Identifier: MIT
**
** Linked with it, or with -DHOST_DLOPEN opened at run time by the path in
** $HOST_LIBRARY, after a while in which it was not there.
*/
#include <stdio.h>
#include <stdlib.h>

#ifdef HOST_DLOPEN
#include <dlfcn.h>
#include <unistd.h>
typedef struct lua_State lua_State;
static lua_State *(*luaL_newstate)(void);
static void (*luaL_openlibs)(lua_State *);
static int (*luaL_loadfile)(lua_State *, const char *);
static int (*lua_pcall)(lua_State *, int, int, int);
static void (*lua_createtable)(lua_State *, int, int);
static void (*lua_pushstring)(lua_State *, const char *);
static void (*lua_rawseti)(lua_State *, int, int);
static void (*lua_setfield)(lua_State *, int, const char *);
static const char *(*lua_tolstring)(lua_State *, int, size_t *);
static void (*lua_close)(lua_State *);
#define GLOBALS (-10002)

static void *must(void *library, const char *name) {
  void *p = library ? dlsym(library, name) : NULL;
  if (!p) { fprintf(stderr, "host: %s\n", dlerror()); exit(1); }
  return p;
}

static void open_library(void) {
  void *library;
  usleep(300000);
  library = dlopen(getenv("HOST_LIBRARY"), RTLD_NOW);
#define GET(f) *(void **)&f = must(library, #f)
  GET(luaL_newstate); GET(luaL_openlibs); GET(luaL_loadfile); GET(lua_pcall);
  GET(lua_createtable); GET(lua_pushstring); GET(lua_rawseti); GET(lua_setfield);
  GET(lua_tolstring); GET(lua_close);
}
#else
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#define GLOBALS LUA_GLOBALSINDEX
#define open_library() ((void)0)
#endif

int main(int argc, char **argv) {
  lua_State *L;
  int i, bad;
  if (argc < 2) return 1;
  open_library();
  L = luaL_newstate();
  luaL_openlibs(L);
  lua_createtable(L, argc, 0);
  for (i = 1; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - 1);
  }
  lua_setfield(L, GLOBALS, "arg");
  bad = luaL_loadfile(L, argv[1]) || lua_pcall(L, 0, 0, 0);
  if (bad) fprintf(stderr, "host: %s\n", lua_tolstring(L, -1, NULL));
  lua_close(L);
  return bad;
}
