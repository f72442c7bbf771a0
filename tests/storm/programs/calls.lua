-- SPDX-License-Identifier: MIT
-- Recursion of several kinds, tail calls and varargs, hot.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function even(n) if n == 0 then return true end return (select(1, n - 1)) == -1 or even(n - 2) end
local function down(n, ...) if n == 0 then return select("#", ...) end return down(n - 1, n, ...) end
local function nest(n) if n > 0 then return 1 + nest(n - 1) end return 0 end
local sum = 0
for round = 1, 2500 do
  sum = sum + fib(17) + (even(200) and 1 or 0) + nest(300)
  for i = 1, 30 do sum = sum + down(i % 9) end
end
print(sum)
