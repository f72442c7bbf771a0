-- SPDX-License-Identifier: MIT
-- Calls of a C function that yields: they are open while their coroutine is suspended.
package.cpath = os.getenv("CONFORMANCE_MODULE")
local m = require("conformance_module")
local function plain(x) return (m.yield(x)) end --:plain
local function tail(x) return m.yield(x) end --:tail
local function fails(x) --:fails
  error(m.yield(x), 0)
end
local function body(i) --:body
  local sum = plain(i)
  sum = sum + tail(i)
  local _, a = pcall(m.yield, i)
  local _, b = pcall(fails, i)
  local o = setmetatable({}, { __index = m.yield })
  sum = sum + a + b + o.field
  assert(not pcall(m.call, m.yield, i))
  return sum
end
local total = 0
for i = 1, 60 do
  local co = coroutine.wrap(body)
  for _ = 1, 6 do total = total + (tonumber((co(i))) or 0) end
  local c = coroutine.create(m.yield)
  coroutine.resume(c, i)
  local _, v = coroutine.resume(c, i)
  total = total + v + m.resume(plain, i)
  coroutine.resume(coroutine.create(plain), i)
  if i % 20 == 0 then collectgarbage() end
end
io.write(total, "\n")
