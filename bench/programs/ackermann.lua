-- SPDX-License-Identifier: MIT
-- Deep recursion with a tail call in two of three branches.
-- bench: size=10 small=5
local n = tonumber((...)) or 10

local function ack(m, k)
  if m == 0 then return k + 1 end
  if k == 0 then return ack(m - 1, 1) end
  return ack(m - 1, ack(m, k - 1))
end

print(ack(2, n * 60), ack(3, n - 1))
