-- SPDX-License-Identifier: MIT
-- Yields from the body and from nested calls.
local function inner(x) --:inner
  local y = coroutine.yield(x)
  return y * 2
end
local function body(a) --:body
  local b = coroutine.yield(a + 1)
  local c = inner(b)
  return c + 1
end
local sum = 0
for i = 1, 90 do
  local co = coroutine.create(body)
  local _, x = coroutine.resume(co, i)
  local _, y = coroutine.resume(co, x)
  local _, z = coroutine.resume(co, y)
  sum = sum + z
end
print(sum)
