-- SPDX-License-Identifier: MIT
-- A coroutine that resumes a coroutine that resumes a coroutine.
local function leaf(x) --:leaf
  return x + coroutine.yield(x)
end
local function nest(n, x) --:nest
  if n == 0 then return (leaf(x)) end
  local co = coroutine.create(nest)
  local _, a = coroutine.resume(co, n - 1, x)
  local _, b = coroutine.resume(co, coroutine.yield(a))
  return b
end
local sum = 0
for i = 1, 40 do
  local co = coroutine.create(nest)
  local _, a = coroutine.resume(co, 5, i)
  local _, b = coroutine.resume(co, a)
  sum = sum + b
end
print(sum)
