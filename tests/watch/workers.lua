-- SPDX-License-Identifier: MIT
-- workers.lua FOLDER: two children call handle until FOLDER/end exists, and so does the parent.
local ffi, folder = require "ffi", ...
ffi.cdef "int fork(void); int usleep(unsigned); int wait(int *);"
local function handle(worker, n) return worker + n end
local function exists(name)
  local f = io.open(folder .. name)
  if f then f:close() end
  return f
end
local worker = 0
for i = 1, 2 do
  if ffi.C.fork() == 0 then worker = i break end
end
if worker == 0 then io.open(folder .. "/ready", "w"):close() end
local n = 0
while not exists("/end") do
  n = n + 1
  handle(worker, n)
  ffi.C.usleep(2000)
end
if worker == 0 then ffi.C.wait(nil) ffi.C.wait(nil) end
