-- SPDX-License-Identifier: MIT
-- stays.lua OUT STOP: calls look() until there is STOP, and writes into OUT what the tracers have switched on (0: nothing:
-- the first three members of struct lt_control).
local ffi = require "ffi"
ffi.cdef "extern uint64_t luajit_usdt_control;"
local out, stop = arg[1], arg[2]
local function look()
  local f = io.open(out, "a")
  f:write(tonumber(ffi.C.luajit_usdt_control % 0x100000000000000ULL), "\n")
  f:close()
end
for turn = 1, 100000 do
  look()
  for i = 1, 200 do tostring(i) end -- A hot loop: there tracing is switched on and off.
  if io.open(stop) then return end
end
error("waited too long for " .. stop)
