-- SPDX-License-Identifier: MIT
-- Sieve of Eratosthenes: array stores in short loops.
-- bench: size=1000000 small=20000
local n = tonumber((...)) or 1000000

local function sieve(limit)
  local composite, count = {}, 0
  for i = 2, limit do composite[i] = false end
  for i = 2, limit do
    if not composite[i] then
      count = count + 1
      for k = i + i, limit, i do composite[k] = true end
    end
  end
  return count
end

print(sieve(n), sieve(math.floor(n / 2)))
