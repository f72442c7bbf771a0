-- SPDX-License-Identifier: MIT
-- Methods, metamethods, closures, sort and gsub callbacks, allocation, finalizers.
local Vec = {}
Vec.__index = Vec
Vec.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, Vec) end
Vec.__eq = function(a, b) return a.x == b.x and a.y == b.y end
function Vec:len2() return self.x * self.x + self.y * self.y end
local function make(x, y) return setmetatable({ x = x, y = y }, Vec) end
local finalized, total = 0, 0
for round = 1, 9000 do
  local acc = make(0, 0)
  for i = 1, 300 do acc = acc + make(i % 7, round % 5) end
  total = total + acc:len2()
  local list = {}
  for i = 1, 60 do list[i] = (i * 37 + round) % 61 end
  table.sort(list, function(a, b) return a < b end)
  total = total + list[1] + list[60]
  total = total + #(("some words here"):gsub("%w+", function(w) return w .. round end))
  local p = newproxy(true)
  getmetatable(p).__gc = function() finalized = finalized + 1 end
end
collectgarbage()
collectgarbage()
print(total, finalized >= 100)
