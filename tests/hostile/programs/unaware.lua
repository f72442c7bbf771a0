-- SPDX-License-Identifier: MIT
-- unaware.lua DIRECTORY 57|namespace: waits for DIRECTORY/go, makes a child by the system call (57:
-- fork; namespace: clone with CLONE_NEWPID), waits for DIRECTORY/end, then for the child. The child
-- makes no event: it sleeps until it is killed, for up to two minutes. Its pid is in DIRECTORY/child.
local ffi = require("ffi")
ffi.cdef([[
long syscall(long, ...);
int usleep(unsigned);
void _exit(int);
int kill(int, int);
int waitpid(int, int *, int);
]])
local C, long = ffi.C, function(n) return ffi.cast("long", n) end
local function work(x) return x + 1 end
local function wait(name)
  local s = 0
  for _ = 1, 60000 do
    for _ = 1, 100 do s = work(s) end
    local f = io.open(arg[1] .. "/" .. name)
    if f then return f:close() end
    C.usleep(500)
  end
  error("waited too long for " .. name)
end
jit.off()
io.open(arg[1] .. "/ready", "w"):close()
wait("go")
local pid
if arg[2] == "namespace" then
  pid = C.syscall(56, long(0x20000000 + 17), long(0), long(0), long(0), long(0))
else
  pid = C.syscall(57)
end
if pid == 0 then
  for _ = 1, 1200 do C.usleep(100000) end
  C._exit(1)
end
pid = tonumber(pid)
local f = io.open(arg[1] .. "/child", "w")
f:write(pid, "\n")
f:close()
wait("end")
C.kill(pid, 9)
C.waitpid(pid, nil, 0)
