-- SPDX-License-Identifier: MIT
-- See resumed.sh. At first more coroutines inside each other than a sample lists.
local seconds = tonumber(...)
local begun = os.clock()
local function ends() X = 1 end
local function yields() X = 1 coroutine.yield() X = 2 end
local function fails() error("x") end
local function inner() for _ = 1, 10 do resume(ends) resume(yields) resume(fails) pcall(coroutine.wrap(yields)) end end
local function outer() coroutine.wrap(inner)() return true end
local function nest(n)
  if n > 0 then return (coroutine.wrap(nest)(n - 1)) end
  for i = 1, 3e6 do X = i end
end
nest(40)
repeat outer() until os.clock() - begun > seconds
