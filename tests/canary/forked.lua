-- SPDX-License-Identifier: MIT
-- A child that is created without the C library's fork() and its handlers calls a traced function.
local ffi = require("ffi")
ffi.cdef("long syscall(long, ...); int waitpid(int, int *, int);")
local SYS_fork = 57  -- x86-64
local function f(x) return {x} end
for i = 1, 1000 do f(i) end
local child = tonumber(ffi.C.syscall(SYS_fork))
for i = 1, 1000 do f(i) end
if child == 0 then os.exit(0) end
local status = ffi.new("int[1]")
ffi.C.waitpid(child, status, 0)
print("status " .. status[0])
