-- SPDX-License-Identifier: MIT
-- Inner calls in argument position, outer ones in tail position.
local function ack(m, n) --:ack
  if m == 0 then return n + 1 end
  if n == 0 then return ack(m - 1, 1) end
  return ack(m - 1, ack(m, n - 1))
end
print(ack(2, 14), ack(1, 60))
