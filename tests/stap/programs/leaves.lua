-- SPDX-License-Identifier: MIT
-- leaves.lua FILE: calls one() until a tracer that was there has switched its probes off, and ends
-- then: while the tracer is about to end itself. Makes FILE when it has called. Its status is 3.
local ffi = require "ffi"
ffi.cdef "extern uint16_t luajit_usdt_control;"
local function on() return tonumber(ffi.C.luajit_usdt_control) > 0 end
local function one(x) return x end
for turn = 1, 30000 do
  if on() then break end
  os.execute("sleep 0.01")
end
assert(on(), "waited too long for a tracer")
for i = 1, 100 do one(i) end
io.open(arg[1], "w"):close()
repeat for i = 1, 100 do one(i) end until not on()
os.exit(3)
