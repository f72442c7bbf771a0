-- SPDX-License-Identifier: MIT
-- Several Lua VMs in one process: those from before the start, those from after it; any of them may end
-- the recording.
local ffi = require "ffi"
local trace, check = require "luatrace", require "check"
jit.off(true, true) -- calls that come back into Lua
ffi.cdef [[
typedef struct lua_State lua_State;
lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *); void lua_close(lua_State *);
int luaL_loadstring(lua_State *, const char *); int lua_pcall(lua_State *, int, int, int);
const char *lua_tolstring(lua_State *, int, size_t *);
]]
local function new()
  local L = ffi.C.luaL_newstate()
  ffi.C.luaL_openlibs(L)
  return L
end
local function run(L, code)
  local status = ffi.C.luaL_loadstring(L, code)
  if status == 0 then status = ffi.C.lua_pcall(L, 0, 0, 0) end
  if status ~= 0 then error(ffi.string(ffi.C.lua_tolstring(L, -1, nil))) end
end
local before = new()
run(before, "function early() end")
assert(trace.start())
local after = new()
run(after, "function late() end for i = 1, 3 do late() end")
run(before, "for i = 1, 5 do early() end")
local rows = trace.report()
check.equal("a VM from before", check.row(rows, "early").calls, 5)
check.equal("a VM from after", check.row(rows, "late").calls, 3)
-- Each VM numbers its coroutines from 1: those of others are not in the profile of one.
run(before, "coroutine.wrap(function() early() end)()")
run(after, [[
local trace, check = require "luatrace", require "check"
local co = coroutine.create(function() late() end)
coroutine.resume(co)
local rows = trace.report { coroutine = co }
check.equal("calls in the coroutine", check.row(rows, "late").calls, 1)
check.no_row(rows, "early")]])
run(after, [[
local trace = require "luatrace"
assert(trace.is_running() and not trace.start())
late()
assert(trace.stop())]])
check.equal("running", trace.is_running(), false)
run(before, "early()")
ffi.C.lua_close(after)
rows = trace.report()
check.equal("calls until the stop", check.row(rows, "late").calls, 5)
check.equal("calls after it", check.row(rows, "early").calls, 6)
ffi.C.lua_close(before)
