-- SPDX-License-Identifier: MIT
-- while, repeat, numeric for, goto continue, nested and left early.
local function f(i) return i % 3 == 0 end --:f
local function g(i) return i end --:g
local n = 0
for i = 1, 100 do
  if f(i) then goto continue end
  n = n + g(i)
  ::continue::
end
local i = 0
while i < 60 do
  i = i + 1
  local j = 0
  repeat
    j = j + 1
    if f(j) then break end
  until j == 10
end
for a = 10, 1, -3 do
  for b = 1, 20 do n = n + g(b) end
end
print(n)
