-- SPDX-License-Identifier: MIT
-- Children that are forked while compiled code runs, in coroutines, one from another.
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);")
local status = ffi.new("int[1]")
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(fib(i % 9)) end end) end
local function work()
  local s = 0
  for i = 1, 20 do s = s + fib(10) end
  for v in gen(30) do s = s + v end
  assert(not pcall(error, "x"))
  return s % 100
end
-- The child ends with what it computed; a child of the child adds its own.
local function child(levels)
  local pid = ffi.C.fork()
  if pid ~= 0 then
    assert(ffi.C.waitpid(pid, status, 0) == pid)
    assert(status[0] % 128 == 0, "killed")
    return math.floor(status[0] / 256)
  end
  local r = work()
  if levels > 0 then r = (r + child(levels - 1)) % 100 end
  ffi.C._exit(r)
end
local sum = 0
for round = 1, 60 do
  for i = 1, 100 do sum = sum + fib(6) end
  if round % 2 == 0 then
    sum = sum + child(round % 3)
  else
    sum = sum + coroutine.wrap(function() return child(1) end)()
  end
end
print(sum)
