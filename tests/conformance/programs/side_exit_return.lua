-- SPDX-License-Identifier: MIT
-- Traces that begin in a callee and return to callers they did not begin in.
local function leaf(n) --:leaf
  local s = 0
  for i = 1, n do s = s + i end
  return s
end
local function left(n) return leaf(n) + 1 end --:left
local function right(n) --:right
  local x = leaf(n)
  local y = left(x % 5)
  return x + y
end
local sum = 0
for i = 1, 90 do
  sum = sum + left(i % 30) + right(i % 20) + leaf(60)
end
print(sum)
