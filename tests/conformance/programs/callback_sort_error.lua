-- SPDX-License-Identifier: MIT
-- A comparator that fails, and one that sorts another table.
local function inner(a, b) return a > b end --:inner
local function nested(a, b) --:nested
  local t = { a, b }
  table.sort(t, inner)
  return t[1] == b and a ~= b
end
local function fails(a, b) --:fails
  error("no order", 0)
end
local n = 0
for i = 1, 60 do
  local t = { 2, 1 }
  table.sort(t, nested)
  n = n + t[1]
  if not pcall(table.sort, t, fails) then n = n + 1 end
end
io.write(n, "\n")
