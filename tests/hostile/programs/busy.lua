-- SPDX-License-Identifier: MIT
-- Calls, coroutines, errors, new functions; prints a number that depends on all of them.
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local sum = 0
for round = 1, tonumber(arg[1]) do
  sum = sum + fib(18)
  local co = coroutine.wrap(function(a) for i = 1, 10 do a = a + coroutine.yield(fib(8) + a) end return a end)
  for i = 1, 11 do sum = sum + co(i) end
  sum = sum + select("#", pcall(error, "x"))
  for i = 1, 20 do
    local f = assert(loadstring("local a = ... return a * " .. i .. " + " .. round, "=chunk" .. round .. "." .. i))
    sum = (sum + f(i)) % 1000003
  end
end
print(sum)
