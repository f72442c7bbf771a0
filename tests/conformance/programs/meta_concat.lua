-- SPDX-License-Identifier: MIT
-- __concat, alone and in chains (right associative).
local mt = {}
local function new(s) return setmetatable({ s = s }, mt) end --:new
function mt.__concat(a, b) --:concat
  local x = type(a) == "table" and a.s or a
  local y = type(b) == "table" and b.s or b
  return x .. y
end
local size = 0
for i = 1, 30 do
  local a = new("a")
  size = size + #(a .. "b") + #("b" .. a) + #("x" .. "y" .. a)
end
print(size)
