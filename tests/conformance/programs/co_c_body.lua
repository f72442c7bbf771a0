-- SPDX-License-Identifier: MIT
-- Coroutines whose body is not a Lua function.
local function f(x) return x + 1 end --:f
local function g(x) coroutine.yield(x) error("g", 0) end --:g
local sum = 0
for i = 1, 50 do
  local a = coroutine.wrap(pcall)
  local ok, v = a(f, i)
  sum = sum + v
  local b = coroutine.create(pcall)
  assert(coroutine.resume(b, g, i))
  local _, ok2 = coroutine.resume(b)
  assert(ok2 == false)
  sum = sum + coroutine.wrap(math.floor)(i + 0.5)
  assert(not coroutine.resume(coroutine.create(error), "x"))
  assert(select(2, coroutine.resume(coroutine.create(coroutine.yield), 7)) == 7)
end
print(sum)
