-- SPDX-License-Identifier: MIT
-- files.lua DIRECTORY N: makes N Lua VMs; once DIRECTORY/go is there each opens a file and closes
-- it, three times; prints in how many VMs that was possible, and keeps all until DIRECTORY/end.
local ffi = require("ffi")
ffi.cdef([[
void *luaL_newstate(void);
void luaL_openlibs(void *L);
int luaL_loadstring(void *L, const char *s);
int lua_pcall(void *L, int nargs, int nresults, int errfunc);
int usleep(unsigned);
]])
local function wait(name)
  for _ = 1, 60000 do
    local f = io.open(arg[1] .. "/" .. name)
    if f then return f:close() end
    ffi.C.usleep(500)
  end
  error("waited too long for " .. name)
end
local states = {}
for i = 1, tonumber(arg[2]) do
  states[i] = ffi.C.luaL_newstate()
  ffi.C.luaL_openlibs(states[i])
end
io.open(arg[1] .. "/ready", "w"):close()
wait("go")
local good = 0
for _, L in ipairs(states) do
  ffi.C.luaL_loadstring(L, [[
    local function again(n)
      local f = assert(io.open("/dev/null"))
      f:close()
      return n > 1 and again(n - 1) or 0
    end
    again(3)
    collectgarbage()
  ]])
  if ffi.C.lua_pcall(L, 0, 0, 0) == 0 then good = good + 1 end
end
print(good .. " of " .. #states)
io.stdout:flush()
io.open(arg[1] .. "/done", "w"):close()
wait("end")
