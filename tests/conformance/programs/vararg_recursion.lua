-- SPDX-License-Identifier: MIT
-- Recursion through a vararg function that is not a tail call.
local function reverse(n, ...) --:reverse
  if n == 0 then return 0 end
  local a = ...
  return a + reverse(n - 1, select(2, ...))
end
local sum = 0
for i = 1, 40 do sum = sum + reverse(8, i, 2, 3, 4, 5, 6, 7, 8) end
print(sum)
