-- SPDX-License-Identifier: MIT
-- many_states.lua DIR N: touches DIR/ready, waits for DIR/go, then creates, runs and closes N Lua VMs one after the
-- other, touches DIR/done and waits for DIR/end.
local ffi = require("ffi")
ffi.cdef [[
int usleep(unsigned);
typedef struct lua_State lua_State;
lua_State *luaL_newstate(void);
void luaL_openlibs(lua_State *);
int luaL_loadstring(lua_State *, const char *);
int lua_pcall(lua_State *, int, int, int);
void lua_close(lua_State *);
]]
local dir, count = arg[1], tonumber(arg[2])
local function touch(what) io.open(dir .. "/" .. what, "w"):close() end
local function wait(what)
  for turn = 1, 60000 do
    local f = io.open(dir .. "/" .. what)
    if f then return f:close() end
    ffi.C.usleep(5000)
  end
  error("waited too long for " .. what)
end
touch("ready")
wait("go")
for _ = 1, count do
  local L = ffi.C.luaL_newstate()
  ffi.C.luaL_openlibs(L)
  assert(ffi.C.luaL_loadstring(L, "local function f() return 1 end for i = 1, 10 do f() end") == 0)
  assert(ffi.C.lua_pcall(L, 0, 0, 0) == 0)
  ffi.C.lua_close(L)
end
touch("done")
wait("end")
