-- SPDX-License-Identifier: MIT
-- A tail call from a callee whose caller waits for the result.
local function leaf(x) return x + 1 end --:leaf
local function middle(x) --:middle
  if x % 3 == 0 then return leaf(x) end
  local y = leaf(x)
  return y
end
local function outer(x) --:outer
  local y = middle(x)
  return (middle(y))
end
local sum = 0
for i = 1, 150 do sum = sum + outer(i) end
print(sum)
