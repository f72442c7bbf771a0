-- SPDX-License-Identifier: MIT
-- Library functions that are written in Lua: they have events like any Lua function.
local function visit(k, v) --:visit
  if v == 3 then return k end
end
local n = 0
for i = 1, 60 do
  local t = { 1, 2, 3, 4 }
  n = n + table.foreachi(t, visit)
  n = n + table.remove(t)
  n = n + (table.foreach({ a = 1 }, visit) and 1 or 0)
end
print(n)
