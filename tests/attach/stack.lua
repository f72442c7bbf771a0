-- SPDX-License-Identifier: MIT
-- Never ends: a coroutine that runs `leaf`, resumed by the main one; 500 that wait; one that was
-- never resumed; one that has ended. Words: jit or interpreter; loop, sleep or grow.
local ffi = require "ffi"
ffi.cdef "int poll(void *fds, unsigned long n, int timeout);"
if arg[1] == "interpreter" then jit.off() end
local M = {}
function M.leaf(n)
  local sum = 0
  for i = 1, n do sum = sum + i % 7 end
  return sum
end
function M.sleep(n)
  for _ = 1, n do ffi.C.poll(nil, 0, 100000) end
  return 0
end
function M.grow(n)
  local text = {}
  for i = 1, 1000 do text[i] = ("%d"):rep(3):gsub("%d", function(d) return d .. n end) end
  return #text
end
local step = ({ loop = M.leaf, sleep = M.sleep, grow = M.grow })[arg[2]]
local function middle(n)
  local value = step(n)
  return value + 1
end
local function waiter(t)
  local function inner() coroutine.yield(t) end
  inner()
  return t
end
all = {}
for i = 1, 500 do
  all[i] = coroutine.create(waiter)
  coroutine.resume(all[i], {})
end
all[501] = coroutine.create(waiter)
all[502] = coroutine.create(function() end)
coroutine.resume(all[502])
local outer = coroutine.wrap(function()
  local x = 0
  while true do x = x + middle(1e7) end
end)
function go() return (outer()) end
io.open(arg[3], "w"):close()
go()
