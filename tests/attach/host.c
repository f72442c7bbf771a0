/*
** A program that is not luajit: it loads libraries by the given names (each a LuaJIT of its own)
** and runs a script in STATES VMs of each, one after the other in the same thread, or each in a
** thread of its own.
** SPDX-License-Identifier: MIT
**
**   host [-t] [-s STATES] LIBRARY... -- SCRIPT ARGUMENTS
**
** Each VM gets its number (1, 2, ...) as a last argument.
** Built with -DSTATIC it is linked with a LuaJIT and takes no libraries.
*/
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lauxlib.h"
#include "lualib.h"

typedef struct Lua {
  lua_State *(*newstate)(void);
  void (*openlibs)(lua_State *L);
  int (*loadfile)(lua_State *L, const char *name);
  void (*createtable)(lua_State *L, int a, int h);
  void (*pushstring)(lua_State *L, const char *s);
  void (*rawseti)(lua_State *L, int i, int n);
  void (*setfield)(lua_State *L, int i, const char *k);
  int (*pcall)(lua_State *L, int a, int r, int e);
  const char *(*tolstring)(lua_State *L, int i, size_t *n);
  void (*close)(lua_State *L);
} Lua;

typedef struct Job {
  Lua lua;
  lua_State *L;
  char **words;  /* Script and arguments. */
  int count, number, bad;
} Job;

static void *need(void *lib, const char *name)
{
  void *p = dlsym(lib, name);
  if (!p) { fprintf(stderr, "host: no %s\n", name); exit(2); }
  return p;
}

static Lua load(const char *path)
{
  Lua l;
#ifdef STATIC
  (void)path;
  (void)need;
  l.newstate = luaL_newstate; l.openlibs = luaL_openlibs;
  l.loadfile = luaL_loadfile; l.createtable = lua_createtable;
  l.pushstring = lua_pushstring; l.rawseti = lua_rawseti;
  l.setfield = lua_setfield; l.pcall = lua_pcall;
  l.tolstring = lua_tolstring; l.close = lua_close;
#else
  void *lib = dlopen(path, RTLD_NOW|RTLD_LOCAL|RTLD_DEEPBIND);
  if (!lib) { fprintf(stderr, "host: %s\n", dlerror()); exit(2); }
  *(void **)&l.newstate = need(lib, "luaL_newstate");
  *(void **)&l.openlibs = need(lib, "luaL_openlibs");
  *(void **)&l.loadfile = need(lib, "luaL_loadfile");
  *(void **)&l.createtable = need(lib, "lua_createtable");
  *(void **)&l.pushstring = need(lib, "lua_pushstring");
  *(void **)&l.rawseti = need(lib, "lua_rawseti");
  *(void **)&l.setfield = need(lib, "lua_setfield");
  *(void **)&l.pcall = need(lib, "lua_pcall");
  *(void **)&l.tolstring = need(lib, "lua_tolstring");
  *(void **)&l.close = need(lib, "lua_close");
#endif
  return l;
}

static void *run(void *p)
{
  Job *j = (Job *)p;
  char number[16];
  int i;
  j->L = j->lua.newstate();
  j->lua.openlibs(j->L);
  j->lua.createtable(j->L, 0, 0);
  for (i = 0; i < j->count; i++) {
    j->lua.pushstring(j->L, j->words[i]);
    j->lua.rawseti(j->L, -2, i);
  }
  snprintf(number, sizeof(number), "%d", j->number);
  j->lua.pushstring(j->L, number);
  j->lua.rawseti(j->L, -2, j->count);
  j->lua.setfield(j->L, LUA_GLOBALSINDEX, "arg");
  j->bad = j->lua.loadfile(j->L, j->words[0]) || j->lua.pcall(j->L, 0, 0, 0);
  if (j->bad) fprintf(stderr, "host: %s\n", j->lua.tolstring(j->L, -1, NULL));
  j->lua.close(j->L);
  return NULL;
}

int main(int argc, char **argv)
{
  static Job jobs[64];
  pthread_t threads[64];
  int i = 1, k, n = 0, states = 1, threaded = 0, bad = 0, first;
  for (; i < argc && argv[i][0] == '-' && argv[i][1] != '-'; i++) {
    if (!strcmp(argv[i], "-t")) threaded = 1;
    else if (!strcmp(argv[i], "-s")) states = atoi(argv[++i]);
  }
  first = i;
  while (i < argc && strcmp(argv[i], "--")) i++;
  if (i >= argc) return 2;
#ifdef STATIC
  for (k = 0; k < states && n < 64; k++, n++) jobs[n].lua = load(NULL);
  (void)first;
#else
  for (; first < i; first++) {
    Lua l = load(argv[first]);
    for (k = 0; k < states && n < 64; k++) jobs[n++].lua = l;
  }
#endif
  for (k = 0; k < n; k++) {
    jobs[k].words = argv+i+1;
    jobs[k].count = argc-i-1;
    jobs[k].number = k+1;
    if (threaded) pthread_create(&threads[k], NULL, run, &jobs[k]);
    else run(&jobs[k]);
  }
  for (k = 0; k < n; k++) {
    if (threaded) pthread_join(threads[k], NULL);
    bad |= jobs[k].bad;
  }
  return bad;
}
