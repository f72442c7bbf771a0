-- SPDX-License-Identifier: MIT
-- Calls, compiled and not, and coroutines; sleeps in between, so that many of these can run at once.
local ffi = require("ffi")
ffi.cdef "int usleep(unsigned);"
local function leaf(x) return x + 1 end
local function odd(x) return leaf(x) end
jit.off(odd)
local co = coroutine.wrap(function() local n = 0 while true do n = odd(n) coroutine.yield() end end)
local n = 0
while true do
  for i = 1, 300 do n = leaf(n) end
  co()
  ffi.C.usleep(2000)
end
