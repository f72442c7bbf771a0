-- SPDX-License-Identifier: MIT
-- A coroutine works 2 x 20 ms of CPU time; in between, its resumer sleeps 200 ms.
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int);")
local function busy(seconds)
  local stop = os.clock() + seconds
  while os.clock() < stop do end
end
local function worker() -- line 9
  busy(0.020)
  coroutine.yield()
  busy(0.020)
end
local co = coroutine.wrap(worker)
co()
ffi.C.usleep(200000)
co()
