-- SPDX-License-Identifier: MIT
-- Yield inside a pcall inside a coroutine, then an error after the resume.
local function risky(x) --:risky
  local y = coroutine.yield(x)
  if y % 3 == 0 then error("three", 0) end
  return y
end
local function body(x) --:body
  local ok, v = pcall(risky, x)
  local w = coroutine.yield(ok)
  local ok2, v2 = xpcall(risky, function(e) --:handler
    return e .. "!"
  end, w)
  return ok2 and v2 or #v2
end
local sum = 0
for i = 1, 90 do
  local co = coroutine.wrap(body)
  local x = co(i)
  local ok = co(x)
  local y = co(i + 1)
  sum = sum + co(y)
end
print(sum)
