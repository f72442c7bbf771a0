-- SPDX-License-Identifier: MIT
-- Vararg functions of every shape, compiled and not.
local function none(...) return ... end --:none
local function first(a, ...) return a, select("#", ...) end --:first
local function pack(...) --:pack
  local t = { ... }
  t.n = select("#", ...)
  return t
end
local function spread(t, i) --:spread
  i = i or 1
  if i > t.n then return end
  return t[i], spread(t, i + 1)
end
local sum = 0
for i = 1, 80 do
  none()
  local a, n = first(i, none(1, 2, nil))
  local t = pack(none(i, nil, i))
  local x, y, z = spread(t)
  sum = sum + a + n + x + (y or 7) + z
end
print(sum)
