-- SPDX-License-Identifier: MIT
-- A coroutine that is suspended while a recorder attaches, and again while events are lost:
--
--   waits.lua DIR CPATH c|lua     waits in a function of a C module, or in coroutine.yield
local dir, how = arg[1], arg[3]
package.cpath = arg[2]
local yield = how == "c" and require("conformance_module").yield or coroutine.yield
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned);")
local function touch(what) io.open(dir .. "/" .. what, "w"):close() end
local function wait(what)
  for turn = 1, 30000 do
    local f = io.open(dir .. "/" .. what)
    if f then return f:close() end
    ffi.C.usleep(10000)
  end
  error("waited too long for " .. what)
end
local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
local function nap(x) return (yield(x)) end -- line 23
local function body() -- line 24
  nap(1)
  nap(2)
end
local co = coroutine.create(body)
coroutine.resume(co)
touch("ready")
wait("go")
coroutine.resume(co)
touch("waiting")
wait("lose")
fib(27)  -- more than fills the ring, also as segments
touch("lost")
wait("taken")
for _ = 1, 4 do fib(12) ffi.C.usleep(300000) end -- it notices that the ring is free again
assert(coroutine.resume(co))
assert(coroutine.status(co) == "dead")
