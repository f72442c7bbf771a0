-- SPDX-License-Identifier: MIT
-- __index and __newindex functions, also through a chain of tables.
local base = {}
function base.__index(t, k) --:index
  return #k
end
function base.__newindex(t, k, v) --:newindex
  rawset(t, k, v + 1)
end
local middle = setmetatable({}, base)
local object = setmetatable({}, { __index = middle })
local sum = 0
for i = 1, 120 do
  local t = setmetatable({}, base)
  t.value = i
  sum = sum + t.value + t.other + object.field + middle.x
end
print(sum)
