-- SPDX-License-Identifier: MIT
-- Forks a child; both run until they are killed.
local ffi = require("ffi")
ffi.cdef "int fork(void); int usleep(unsigned);"
ffi.C.fork()
local function leaf(x) return x + 1 end
local n = 0
while true do
  for i = 1, 300 do n = leaf(n) end
  ffi.C.usleep(2000)
end
