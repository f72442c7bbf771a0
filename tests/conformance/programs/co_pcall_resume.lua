-- SPDX-License-Identifier: MIT
-- Resumes under pcall, errors on both sides of the border.
local function body(x) --:body
  local y = coroutine.yield(x)
  error(y, 0)
end
local function drive(i) --:drive
  local co = coroutine.wrap(body)
  co(i)
  if i % 2 == 0 then error("outside", 0) end
  co(i)
  return i
end
local out = {}
for i = 1, 80 do
  local ok, e = pcall(drive, i)
  out[#out + 1] = tostring(e)
end
print(table.concat(out, " ", 1, 4))
