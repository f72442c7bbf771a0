-- SPDX-License-Identifier: MIT
-- Takeuchi's function: recursion with three arguments and nested calls.
-- bench: size=8 small=5
local n = tonumber((...)) or 8

local function tak(x, y, z)
  if y >= x then return z end
  return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))
end

print(tak(n * 3 - 2, n * 2 - 2, n - 2))
