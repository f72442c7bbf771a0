-- SPDX-License-Identifier: MIT
-- Tail calls from and to vararg functions.
local function sum(...) --:sum
  local s = 0
  for i = 1, select("#", ...) do s = s + (select(i, ...)) end
  return s
end
local function pass(...) --:pass
  return sum(...)
end
local function rotate(n, a, ...) --:rotate
  if n == 0 then return sum(a, ...) end
  return rotate(n - 1, ..., a)
end
local total = 0
for i = 1, 100 do total = total + pass(i, 2, 3) + rotate(5, i, 1) end
print(total)
