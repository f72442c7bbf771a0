/*
** A host with two Lua VMs in two threads: one is interpreted and polls nowhere; the other one records the process.
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>
#include <stdio.h>

#include "lauxlib.h"
#include "lualib.h"

static volatile int done;

static int is_done(lua_State *L)
{
  lua_pushboolean(L, done);
  return 1;
}

static void run(lua_State *L, const char *code)
{
  if (luaL_dostring(L, code)) fprintf(stderr, "%s\n", lua_tostring(L, -1));
}

static void *record(void *unused)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  run(L, "local trace = require 'luatrace' assert(trace.start())"
	 " local ffi = require 'ffi' ffi.cdef 'int usleep(unsigned);' ffi.C.usleep(1000000)"
	 " assert(trace.stop())"
	 " for _, f in ipairs(trace.report()) do if f.name == 'other' then print(f.calls > 0) end end");
  lua_close(L);
  done = 1;
  return unused;
}

int main(void)
{
  pthread_t thread;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "is_done", is_done);
  if (pthread_create(&thread, NULL, record, NULL)) return 1;
  run(L, "jit.off() local function other(n) return n end local n = 0"
	 " repeat for i = 1, 1000 do n = other(n) end until is_done()");
  pthread_join(thread, NULL);
  lua_close(L);
  return 0;
}
