#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program that exits, or forks, while its other threads close Lua VMs: a thread that walks the
# list of VMs then must not read freed memory.
#
#   exits.sh BUILD VIA
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"

cat >"$scratch/closers.lua" <<'END'
local how, count = arg[1], 12
local ffi = require("ffi")
ffi.cdef [[
typedef struct lua_State lua_State;
lua_State *luaL_newstate(void);
void luaL_openlibs(lua_State *);
int luaL_loadstring(lua_State *, const char *);
int lua_pcall(lua_State *, int, int, int);
void lua_close(lua_State *);
int pthread_create(unsigned long *, void *, void *(*)(void *), void *);
int fork(void);
int waitpid(int, int *, int);
void exit(int);
void _exit(int);
]]
local C = ffi.C
local states = {}
for i = 1, count do
  local L = C.luaL_newstate()
  C.luaL_openlibs(L)
  C.luaL_loadstring(L, "local function f(x) return x + 1 end local n = 0 for i = 1, 100000 do n = f(n) end")
  C.lua_pcall(L, 0, 0, 0)
  states[i] = L
end
local close = ffi.cast("void *(*)(void *)", C.lua_close)
local thread = ffi.new("unsigned long[1]")
for i = 1, count do C.pthread_create(thread, nil, close, states[i]) end
if how == "exit" then C.exit(3) end
local status = ffi.new("int[1]")
for i = 1, 20 do
  local child = C.fork()
  if child == 0 then C._exit(0) end
  C.waitpid(child, status, 0)
  if status[0] ~= 0 then C._exit(9) end
end
C._exit(3)
END
for turn in $(seq 8); do
  for how in exit fork; do
    status=0
    timeout 60 "$bin/luatrace-record" -q --via "$via" -o "$scratch/trace.bin" -- "$bin/luajit" "$scratch/closers.lua" $how 2>"$scratch/record.err" || status=$?
    same "statuses ($how)" $status 3
  done
done
