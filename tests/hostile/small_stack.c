// SPDX-License-Identifier: MIT
// small_stack KB FOLDER: runs Lua in a thread with a C stack of that size, until a file FOLDER/end
// exists. Makes FOLDER/ready after the first round. Prints how many rounds had the same result as
// the first one, and how many did not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lauxlib.h"
#include "lualib.h"

static const char program[] =
    "local dir = ...\n"
    "local function leaf(x) return x + 1 end\n"
    "local function tail(x) return leaf(x) end\n"
    "local function fails(x) return leaf(x) .. nil end\n"
    "local function exists(name) local f = io.open(dir .. name) if f then f:close() end return f end\n"
    "local function work()\n"
    "  local n = 0\n"
    "  for i = 1, 2000 do n = n + leaf(i) % 7 end\n"
    "  local co = coroutine.wrap(function(a) for i = 1, 20 do a = coroutine.yield(tail(a)) end end)\n"
    "  for i = 1, 20 do n = n + co(i) end\n"
    "  for _ = 1, 5 do n = n + (pcall(fails, 1) and 1 or 2) end\n"
    "  local t = {}\n"
    "  for i = 1, 30 do t[i] = i * 7919 % 31 end\n"
    "  table.sort(t, function(a, b) return tail(a) > tail(b) end)\n"
    "  return n .. table.concat(t, ' ')\n"
    "end\n"
    "local wanted, good, bad = work(), 0, 0\n"
    "io.open(dir .. '/ready', 'w'):close()\n"
    "repeat if work() == wanted then good = good + 1 else bad = bad + 1 end until exists('/end')\n"
    "return good, bad\n";

static const char *folder;

static void *run(void *unused) {
  lua_State *L = luaL_newstate();
  (void)unused;
  luaL_openlibs(L);
  if (luaL_loadstring(L, program) || (lua_pushstring(L, folder), lua_pcall(L, 1, 2, 0)))
    printf("%s\n", lua_tostring(L, -1));
  else
    printf("%s %g\n", lua_tonumber(L, -2) > 0 ? "some" : "none", lua_tonumber(L, -1));
  lua_close(L);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_attr_t attr;
  pthread_t thread;
  if (argc != 3) return 2;
  folder = argv[2];
  if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, (size_t)atoi(argv[1]) << 10)) return 3;
  if (pthread_create(&thread, &attr, run, NULL)) return 4;
  pthread_join(thread, NULL);
  return 0;
}
