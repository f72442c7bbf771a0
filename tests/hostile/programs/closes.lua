-- SPDX-License-Identifier: MIT
-- Once DIRECTORY/go is there it closes all descriptors from 3 to 63 and opens ten files; once
-- DIRECTORY/end is there it prints how many of these can be written to. Usage: closes.lua DIRECTORY
local ffi = require("ffi")
ffi.cdef([[
int usleep(unsigned);
int close(int);
int open(const char *, int, ...);
ptrdiff_t write(int, const char *, size_t);
]])
local function exists(name)
  local f = io.open(arg[1] .. "/" .. name)
  if f then f:close() end
  return f
end
local function f(x) return x + 1 end
local s = 0
local function work_until(name)
  for _ = 1, 60000 do
    for _ = 1, 1000 do s = f(s) end
    if exists(name) then return end
    ffi.C.usleep(500)
  end
  error("waited too long for " .. name)
end
io.open(arg[1] .. "/ready", "w"):close()
work_until("go")
for fd = 3, 63 do ffi.C.close(fd) end
local files = {}
for i = 1, 10 do
  files[i] = ffi.C.open(arg[1] .. "/own" .. i, 577, ffi.cast("int", 384))  -- O_WRONLY | O_CREAT | O_TRUNC, 0600
end
io.open(arg[1] .. "/done", "w"):close()
work_until("end")
local good = 0
for i = 1, 10 do
  if ffi.C.write(files[i], "x", 1) == 1 then good = good + 1 end
end
print(good .. " of " .. #files)
