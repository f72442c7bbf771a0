-- SPDX-License-Identifier: MIT
-- Closures, stateless iterators, pairs, next and ipairs in hot for loops.
local function counter(n) --:counter
  local i = 0
  return function() --:count
    i = i + 1
    if i <= n then return i end
  end
end
local function step(n, i) --:step
  if i < n then return i + 1 end
end
local function stateless(n) return step, n, 0 end --:stateless
local function visit(x) return x end --:visit
local t, sum = { 1, 2, 3, a = 4, b = 5 }, 0
for i = 1, 60 do
  for x in counter(3) do sum = sum + visit(x) end
  for x in stateless(4) do sum = sum + visit(x) end
  for _, x in ipairs(t) do sum = sum + visit(x) end
  for _, x in pairs(t) do sum = sum + visit(x) end
  for _, x in next, t do sum = sum + visit(x) end
end
print(sum)
