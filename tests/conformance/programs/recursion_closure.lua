-- SPDX-License-Identifier: MIT
-- Recursion through a closure made in each step.
local function apply(f, n) --:apply
  return f(n) + 1
end
local function step(n) --:step
  if n == 0 then return 0 end
  return apply(function(m) --:inner
    return step(m - 1) + 1
  end, n)
end
local sum = 0
for i = 1, 40 do sum = sum + step(i) end
print(sum)
