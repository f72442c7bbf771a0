/* SPDX-License-Identifier: MIT */
/* A thread runs Lua while the first one changes the mappings of the process all the time.
**
**   mappings SECONDS */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <lauxlib.h>
#include <lualib.h>

static atomic_int done;

static void *run(void *seconds) {
  lua_State *const L = luaL_newstate();
  luaL_openlibs(L);
  lua_pushstring(L, seconds);
  lua_setglobal(L, "seconds");
  const int failed = luaL_dostring(L, "local function f(n) return n end\n"
                                      "local begun = os.clock() while os.clock() - begun < tonumber(seconds) do for i = 1, 1000 do f(i) end end");
  atomic_store(&done, failed ? 2 : 1);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread;
  if (argc < 2 || pthread_create(&thread, NULL, run, argv[1])) return 1;
  char *const pages = mmap(NULL, 4096 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) return 1;
  for (int i = 0; !atomic_load(&done); i++) mprotect(pages, 4096 * 4096, i % 2 ? PROT_READ | PROT_WRITE : PROT_READ);
  pthread_join(thread, NULL);
  return atomic_load(&done) - 1;
}
