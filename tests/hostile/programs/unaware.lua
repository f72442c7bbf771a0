-- SPDX-License-Identifier: MIT
-- unaware.lua DIRECTORY 57|namespace: waits for DIRECTORY/go, makes a child by the system call (57:
-- fork; namespace: clone with CLONE_NEWPID), waits for DIRECTORY/end, then for the child. The child
-- runs no Lua: it sleeps until it is killed. Its number is in DIRECTORY/child.
local ffi = require("ffi")
ffi.cdef([[
long syscall(long, ...);
int usleep(unsigned);
int pause(void);
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
while pid == 0 do C.pause() end
pid = tonumber(pid)
local f = io.open(arg[1] .. "/child", "w")
f:write(pid, "\n")
f:close()
wait("end")
C.kill(pid, 9)
C.waitpid(pid, nil, 0)
