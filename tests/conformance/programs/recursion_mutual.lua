-- SPDX-License-Identifier: MIT
-- Two functions call each other, not in tail position.
local odd
local function even(n) --:even
  if n == 0 then return 0 end
  return 1 + odd(n - 1)
end
function odd(n) --:odd
  if n == 0 then return 0 end
  return 1 + even(n - 1)
end
local sum = 0
for i = 1, 80 do sum = sum + even(i) end
print(sum)
