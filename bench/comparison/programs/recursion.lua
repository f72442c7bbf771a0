-- SPDX-License-Identifier: MIT
-- A recursion: 218,910 calls of fib, 10 of begin.
local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
local function begin(n)
  local sum = fib(n)
  return sum
end
return function()
  for _ = 1, 10 do begin(20) end
end
