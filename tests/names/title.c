/* SPDX-License-Identifier: MIT */
/* A program that writes its title over its argument and whose file is replaced, with a Lua state
 * before and one after: what nginx does to its workers, and a package manager to nginx. */
#include <string.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static void run(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_dostring(L, "local function f() return 1 end f() f()");
  lua_close(L);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  run();
  memset(argv[1], 'w', strlen(argv[1]));
  unlink(argv[2]);
  run();
  usleep(100000); /* the recorder looks at the mappings, and at the title, meanwhile */
  return 0;
}
