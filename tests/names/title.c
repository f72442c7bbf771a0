/* SPDX-License-Identifier: MIT */
/* A program that writes its title over its argument and whose file is replaced, with a Lua VM
 * before and one after: what nginx does to its workers, and a package manager to nginx. With one
 * argument: a daemon whose child runs Lua before it does so itself, like an nginx that is reloaded. */
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

static int be_daemon(void) {
  int up[2], down[2];
  char c;
  run();
  if (fork()) return 0;
  if (pipe(up) || pipe(down)) return 3;
  if (fork() == 0) {
    close(down[1]);
    run();
    if (write(up[1], "", 1) != 1) return 4;
    return (int)read(down[0], &c, 1); /* until its parent ends */
  }
  if (read(up[0], &c, 1) != 1) return 5;
  run();
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2) return be_daemon();
  if (argc != 3) return 2;
  run();
  memset(argv[1], 'w', strlen(argv[1]));
  unlink(argv[2]);
  run();
  usleep(100000); /* meanwhile the recorder reads the mappings and the title */
  return 0;
}
