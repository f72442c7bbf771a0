-- SPDX-License-Identifier: MIT
-- 1,000 calls of first, each of which ends in a tail call of second; 10,000 calls of loop, each but the
-- last one of ten ending in a tail call of itself; then after works.
local function second()
  return 1
end
local function first()
  return second()
end
local function loop(n)
  if n == 0 then return 0 end
  return loop(n - 1)
end
local function after()
  local sum = 0
  for i = 1, 20000000 do sum = sum + i % 7 end
  return sum
end
return function()
  for _ = 1, 1000 do first() end
  for _ = 1, 10 do loop(999) end
  after()
end
