-- Calls of every kind: plain, tail, recursive, vararg, from C, in coroutines, ended by errors; hot
-- enough to be compiled.
local function leaf(x) return x + 1 end
local function tail(x) return leaf(x) end
local function many(n) local s = 0 for i = 1, n do s = leaf(s) end return s end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function sum(...) local s = 0 for i = 1, select('#', ...) do s = s + leaf((select(i, ...))) end return s end
local function fail(n) if n == 0 then error("deep") end fail(n - 1) return n end
local function caught(n) return (pcall(fail, n)) end
local function generator(n) return coroutine.wrap(function() for i = 1, n do leaf(i) coroutine.yield(tail(i)) end end) end

many(3000)
fib(12)
for i = 1, 20 do sum(i, i + 1, i + 2) tail(i) end
for i = 1, 7 do caught(i) end
local s = 0
for v in generator(50) do s = s + v end
local t = { 5, 2, 9, 1 }
for i = 1, 10 do table.sort(t, function(a, b) return a < b end) string.gsub("abc", ".", function(c) return c end) end
local co = coroutine.create(function() fail(2) end)
assert(not coroutine.resume(co))
-- SPDX-License-Identifier: MIT
