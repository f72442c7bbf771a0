-- SPDX-License-Identifier: MIT
-- Calls of all kinds whose numbers are known (tests/bpf/same_test.cc, KnownAnswers).
local function leaf(n) return n + 1 end
local function tail(n) return leaf(n) end
local function vararg(...) return select("#", ...) end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function even(n) if n == 0 then return true end return (n % 2 == 0) end
local mt = setmetatable({}, {__index = function(_, k) return k end, __call = function(_, x) return x end})
local s = 0
for i = 1, 2000 do
  s = s + leaf(i) + tail(i) + vararg(i, i) + mt(i) + mt[i]
  if even(i) then s = s + plain_c() end
end
s = s + fib(15) + calls_back(function() return leaf(1) end)
io.write(s, "\n")
