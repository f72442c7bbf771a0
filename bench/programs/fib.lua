-- SPDX-License-Identifier: MIT
-- Double recursion: nothing but calls and returns.
-- bench: size=30 small=20
local n = tonumber((...)) or 30

local function fib(k)
  if k < 2 then return k end
  return fib(k - 1) + fib(k - 2)
end

print(fib(n))
