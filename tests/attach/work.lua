-- SPDX-License-Identifier: MIT
-- Work with known numbers of calls, for programs that are attached to while they
-- wait: returns a function that does it. The tests know the function fib by its
-- line, 7.


local function fib(n) -- 2*fib(n+1)-1 calls
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end

local function leaf(x) return x + 1 end

local function tail(n) return leaf(n) end

local function fails(n) if n % 2 == 0 then error("even") end return n end

local function generator(n) for i = 1, n do coroutine.yield(leaf(i)) end end

local function vararg(...) return select("#", ...) end

local function work()
  fib(20)
  local s = 0
  for i = 1, 1000 do s = s + tail(i) + vararg(i, i) end
  for i = 1, 100 do pcall(fails, i) end
  for i = 1, 10 do
    for v in coroutine.wrap(function() generator(20) end) do s = s + v end
  end
  table.sort({ 5, 3, 8, 1 }, function(a, b) return a < b end)
  return s
end

return work
