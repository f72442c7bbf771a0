-- SPDX-License-Identifier: MIT
-- lives.lua OUT STOP [FORK]: calls look() until there is STOP, and writes into OUT how
-- many probes a tracer has switched on, each time. Starts other programs meanwhile, and
-- as soon as there is FORK has a child that does the same with OUT.child.
local ffi = require "ffi"
ffi.cdef "extern uint16_t luajit_usdt_control; int fork(void);"
local out, stop, fork = arg[1], arg[2], arg[3]
local function look()
  local f = io.open(out, "a")
  f:write(tonumber(ffi.C.luajit_usdt_control), "\n")
  f:close()
end
for turn = 1, 10000 do
  look()
  for i = 1, 200 do tostring(i) end  -- A hot loop: there tracing is switched on and off.
  os.execute("sleep 0.05")
  if fork and io.open(fork) then
    fork = nil
    if ffi.C.fork() == 0 then out = out .. ".child" end
  end
  if io.open(stop) then return end
end
error("waited too long for " .. stop)
