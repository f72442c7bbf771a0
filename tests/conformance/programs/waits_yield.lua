-- SPDX-License-Identifier: MIT
-- coroutine.yield under the class default: a call that is open while its coroutine is suspended.
local function plain(x) return (coroutine.yield(x)) end --:plain
local function tail(x) return coroutine.yield(x) end --:tail
local function body(i) --:body
  local sum = plain(i)
  sum = sum + tail(i)
  local _, a = pcall(coroutine.yield, i)
  local o = setmetatable({}, { __index = coroutine.yield })
  sum = sum + a + o.field
  assert(not pcall(table.sort, { 2, 1 }, coroutine.yield))
  return sum
end
local total = 0
for i = 1, 60 do
  local co = coroutine.wrap(body)
  for _ = 1, 5 do total = total + (tonumber((co(i))) or 0) end
  local c = coroutine.create(coroutine.yield)
  coroutine.resume(c, i)
  local _, v = coroutine.resume(c, i)
  total = total + v
  coroutine.resume(coroutine.create(plain), i)
  if i % 20 == 0 then collectgarbage() end
  assert(not pcall(coroutine.yield, i))
end
io.write(total, "\n")
