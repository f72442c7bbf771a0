-- SPDX-License-Identifier: MIT
-- Handlers of jit.attach that call, resume coroutines and fail. How often they run depends on the
-- compiler; what the program computes does not.
local Y = coroutine.yield
local function inner(x) local y = Y(x) return y end
local turns = 0
local walker = coroutine.wrap(function() while true do inner(1) turns = turns + 1 end end)
walker()
local depth, runs = 0, 0
local function work(x) return x + 1 end
local function handler(what)
  if depth > 0 then return end
  depth = depth + 1
  runs = runs + 1
  walker()
  for i = 1, 5 do work(i) end
  assert(not pcall(error, what))
  depth = depth - 1
  if runs % 7 == 0 then error("handlers may fail") end
end
local sum = 0
for round = 1, 2500 do
  if round % 10 == 1 and jit.attach then jit.attach(handler, round % 20 == 1 and "trace" or "bc") end
  if round % 10 == 6 and jit.attach then jit.attach(handler) end
  local f = assert(loadstring("local w = ... local s = 0 for i = 1, 120 do s = w(s) end return s"))
  sum = sum + f(work)
  if round % 5 == 0 then jit.flush() end
  local before = turns
  walker()
  assert(turns == before + 1)
end
if jit.attach then jit.attach(handler) end
print(sum)
