-- SPDX-License-Identifier: MIT
-- Yield and resume in tail position.
local function give(x) --:give
  return coroutine.yield(x)
end
local function body(x) --:body
  give(x)
  return give(x + 1)
end
local function pull(co, x) --:pull
  return coroutine.resume(co, x)
end
local sum = 0
for i = 1, 80 do
  local co = coroutine.create(body)
  local _, a = pull(co, i)
  local _, b = pull(co)
  local _, c = pull(co, 5)
  sum = sum + a + b + c
end
print(sum)
