-- SPDX-License-Identifier: MIT
-- A body that fails: its calls end with the coroutine.
local function fail(x) --:fails
  if x > 2 then error("too big") end
  return x
end
local function body(x) --:body
  local r = fail(x)
  r = r + coroutine.yield(r)
  return fail(r)
end
local good, bad = 0, 0
for i = 1, 80 do
  local co = coroutine.create(body)
  local ok, r = coroutine.resume(co, i % 4)
  if ok then ok, r = coroutine.resume(co, 1) end
  if ok then good = good + 1 else bad = bad + 1 end
end
print(good, bad)
