-- SPDX-License-Identifier: MIT
-- Coroutines: pipelines, generators, yields across pcall, deaths by error, many that are abandoned.
local function source(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local function filter(f, from)
  return coroutine.wrap(function()
    for x in from do if f(x) then coroutine.yield(x) end end
  end)
end
local sum, dead = 0, 0
for round = 1, 6000 do
  for x in filter(function(x) return x % 3 ~= 0 end, source(60)) do sum = sum + x end
  local co = coroutine.create(function(a)
    local ok = pcall(function() coroutine.yield(a); error("inside") end)
    assert(not ok)
    coroutine.yield(a + 1)
    error("dies")
  end)
  local ok = true
  while ok do
    local v
    ok, v = coroutine.resume(co, round)
    if ok then sum = sum + (v or 0) else dead = dead + 1 end
  end
  local left = coroutine.create(function() coroutine.yield() end)
  coroutine.resume(left)
end
print(sum, dead)
