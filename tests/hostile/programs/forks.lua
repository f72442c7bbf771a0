-- SPDX-License-Identifier: MIT
-- forks.lua DIRECTORY N: waits for DIRECTORY/go, then forks N times in a loop; each child calls a
-- function eleven times, its parent once after each fork.
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int); int usleep(unsigned);")
local C = ffi.C
local function leaf(x) return x + 1 end
local function many(n)
  local s = 0
  for _ = 1, n do
    local pid = C.fork()
    s = leaf(s)
    if pid == 0 then
      for _ = 1, 10 do s = leaf(s) end
      C._exit(0)
    end
    C.waitpid(pid, nil, 0)
  end
end
io.open(arg[1] .. "/ready", "w"):close()
for _ = 1, 60000 do
  local f = io.open(arg[1] .. "/go")
  if f then f:close() break end
  C.usleep(500)
end
many(tonumber(arg[2]))
