-- SPDX-License-Identifier: MIT
-- states.lua N [GO]: makes N Lua VMs, one after the other, and prints what each computed. With GO:
-- the first one, then it waits for that file, then the others; finally how often it slept
-- meanwhile.
local ffi = require("ffi")
ffi.cdef([[
void *luaL_newstate(void);
void luaL_openlibs(void *L);
int luaL_loadstring(void *L, const char *s);
int lua_pcall(void *L, int nargs, int nresults, int errfunc);
ptrdiff_t lua_tointeger(void *L, int index);
void lua_close(void *L);
int usleep(unsigned);
]])
local n, go = tonumber(arg[1]), arg[2]
local function sleeps()
  for line in io.lines("/proc/self/status") do
    local n = line:match("^voluntary_ctxt_switches:%s*(%d+)")
    if n then return tonumber(n) end
  end
end
local start
for i = 1, n do
  for _ = 1, i == 2 and go and 30000 or 0 do
    local f = io.open(go)
    if f then f:close() break end
    ffi.C.usleep(1000)
  end
  start = i == 2 and sleeps() or start
  local L = ffi.C.luaL_newstate()
  ffi.C.luaL_openlibs(L)
  ffi.C.luaL_loadstring(L, "local function f(x) return x + 1 end local s = 0 for i = 1, 100 do s = f(s) end return s")
  local status = ffi.C.lua_pcall(L, 0, 1, 0)
  print(status, tonumber(ffi.C.lua_tointeger(L, -1)))
  ffi.C.lua_close(L)
end
if go then print("sleeps", sleeps() - start) end
