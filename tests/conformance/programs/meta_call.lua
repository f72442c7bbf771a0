-- SPDX-License-Identifier: MIT
-- Callables, a chain of them, and callables that recurse.
local leaf = setmetatable({}, { __call = function(self, x) --:leaf
  return x + 1
end })
local mid = setmetatable({}, { __call = function(self, x) --:mid
  return (leaf(x))
end })
local fact = setmetatable({}, { __call = function(self, n) --:fact
  if n <= 1 then return 1 end
  return n * self(n - 1) % 1000007
end })
local sum = 0
for i = 1, 100 do sum = sum + leaf(i) + mid(i) + fact(i % 9) end
print(sum)
