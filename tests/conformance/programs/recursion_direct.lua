-- SPDX-License-Identifier: MIT
-- Non-tail recursion in two branches, hot enough to be compiled.
local function fib(n) --:fib
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
print(fib(18))
