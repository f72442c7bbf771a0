-- SPDX-License-Identifier: MIT
-- Waits, and computes for as long as its own clock of CPU time says. Ends when it has done so while a
-- recorder was there: when the file arg[1] exists. Prints the CPU time of its last rounds in ms.
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"
local clock = os.clock
local function waits() ffi.C.usleep(20000) end
local function burns()
  local start = clock()
  while clock() - start < 0.05 do end
end
local function round() waits() burns() end

local function rounds()
  for _ = 1, 10 do round() end
end
while not io.open(arg[1]) do waits() end
rounds()
