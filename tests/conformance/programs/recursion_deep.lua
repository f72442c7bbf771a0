-- SPDX-License-Identifier: MIT
-- Linear recursion thousands of frames deep: the stack grows, the JIT unrolls up and down.
local function sum(n) --:sum
  if n == 0 then return 0 end
  return n + sum(n - 1)
end
local total = 0
for i = 1, 6 do total = total + sum(i * 900) end
print(total)
