-- SPDX-License-Identifier: MIT
-- ends.lua FILE kill|exec|exit: waits for FILE, as gate.lua does, calls one() 1000 times and ends at once.
local ffi = require "ffi"
ffi.cdef "int kill(int, int); int getpid(void); int execl(const char *, const char *, ...);"
local file, way = arg[1], arg[2]
local function one(x) return x end
local f
for i = 1, 3e8 do
  f = io.open(file)
  if f then break end
end
for i = 1, 2000 do io.open(file):close() end
for i = 1, 1000 do one(i) end
if way == "kill" then ffi.C.kill(ffi.C.getpid(), 9) end
if way == "exec" then ffi.C.execl("/bin/true", "true", ffi.cast("char *", nil)) end
os.exit(0)
