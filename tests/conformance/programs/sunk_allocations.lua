-- SPDX-License-Identifier: MIT
-- Temporary objects that the compiler removes; a rare branch makes them real.
local Point = {}
Point.__index = Point
local function point(x, y) return setmetatable({ x = x, y = y }, Point) end --:point
function Point:add(o) return point(self.x + o.x, self.y + o.y) end --:add
function Point:len() return self.x * self.x + self.y * self.y end --:len
local kept = {}
local function keep(p) kept[#kept + 1] = p end --:keep
local sum = 0
for i = 1, 300 do
  local p = point(i, 1):add(point(1, i))
  sum = (sum + p:len()) % 10007
  if i % 61 == 0 then keep(p) end
end
print(sum, #kept)
