-- SPDX-License-Identifier: MIT
-- Coroutines in each other, wrapped, abandoned, dead by an error; yields across pcall; generators. They are
-- collected at the end only: when the collector comes by itself differs from run to run.
collectgarbage("stop")
local function gen(n) for i = 1, n do coroutine.yield(i) end return "end" end
local function deep(n) if n == 0 then return coroutine.yield("deep") end return 1 + deep(n - 1) end
local function nested(n)
  if n == 0 then return coroutine.yield(0) end
  local inner = coroutine.wrap(nested)
  local v = inner(n - 1)
  coroutine.yield(v)
  return inner()
end
local function dies(n) if n == 3 then error({}) end coroutine.yield(n) return dies(n + 1) end
local function guarded() return pcall(dies, 1) end
local kept = {}
for round = 1, 60 do
  for v in coroutine.wrap(gen), 20 do if v == "end" then break end end
  local co = coroutine.create(deep)
  coroutine.resume(co, 10)
  if round % 2 == 0 then coroutine.resume(co, 1) else kept[#kept + 1] = co end
  local w = coroutine.wrap(nested)
  w(4) w()
  local d = coroutine.create(dies)
  repeat local ok = coroutine.resume(d, 1) until not ok
  local g = coroutine.wrap(guarded)
  g() g()
end
kept = nil
collectgarbage()
