-- SPDX-License-Identifier: MIT
-- Writes to its standard streams, closed or not, until the file DIRECTORY/end is there; then makes
-- DIRECTORY/finished. Usage: writes.lua DIRECTORY
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned); ptrdiff_t write(int, const char *, size_t);")
local function exists(name)
  local f = io.open(arg[1] .. "/" .. name)
  if f then f:close() end
  return f
end
local function f(x) return x + 1 end
local s, line = 0, "a line that goes nowhere, or into a file\n"
io.open(arg[1] .. "/ready", "w"):close()
for round = 1, 60000 do
  for _ = 1, 2000 do s = f(s) end
  for fd = 0, 2 do ffi.C.write(fd, line, #line) end
  if exists("end") then break end
  ffi.C.usleep(500)
end
io.open(arg[1] .. "/finished", "w"):close()
