/*
** thread KB SCRIPT ARG: runs a script in a thread with a C stack of that size, with ARG in the
** global variable arg.
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lauxlib.h"
#include "lualib.h"

static char **words;

static void *run(void *unused)
{
  lua_State *L = luaL_newstate();
  (void)unused;
  luaL_openlibs(L);
  lua_pushstring(L, words[3]);
  lua_setglobal(L, "arg");
  if (luaL_dofile(L, words[2])) printf("%s\n", lua_tostring(L, -1));
  lua_close(L);
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_attr_t attr;
  pthread_t thread;
  words = argv;
  if (argc != 4 || pthread_attr_init(&attr)) return 2;
  if (pthread_attr_setstacksize(&attr, (size_t)atoi(argv[1]) << 10)) return 3;
  if (pthread_create(&thread, &attr, run, NULL)) return 4;
  pthread_join(thread, NULL);
  return 0;
}
