-- SPDX-License-Identifier: MIT
-- Some of everything, the same in every run: closures, methods, metamethods,
-- callbacks from C functions, errors, coroutines inside of coroutines.
local Point = {}
Point.__index = Point
function Point.__add(a, b) return setmetatable({x = a.x + b.x}, Point) end
function Point:move(n) self.x = self.x + n; return self end

local function make(n) return function(x) return x * n end end
local double, triple = make(2), make(3)

local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end

local function walk(tree, visit)
  if tree then walk(tree[1], visit); visit(tree[2]); walk(tree[3], visit) end
end
local function grow(n) if n == 0 then return nil end return {grow(n - 1), n, grow(n - 1)} end

local function risky(i) if i % 3 == 0 then error({i}) end return i end
local function guard(i) local ok, e = pcall(risky, i); return ok and e or -1 end

local function producer(n) for i = 1, n do coroutine.yield(i) end end
local function filter(source, f)
  return coroutine.wrap(function()
    for v in source do if f(v) then coroutine.yield(v) end end
  end)
end

local sum = 0
for i = 1, 300 do sum = sum + double(i) + triple(i) end
sum = sum + fib(14)
walk(grow(7), function(v) sum = sum + v end)
for i = 1, 90 do sum = sum + guard(i) end
local p = setmetatable({x = 0}, Point)
for i = 1, 200 do p = p:move(i) + p end
local list = {}
for i = 1, 60 do list[i] = (i * 37) % 61 end
table.sort(list, function(a, b) return a < b end)
local text = ("lua trace "):rep(20):gsub("%a+", function(w) return w:upper() end)
local numbers = coroutine.wrap(function() producer(100) end)
for v in filter(numbers, function(v) return v % 2 == 0 end) do sum = sum + v end
for i = 1, 20 do
  local co = coroutine.create(function() producer(3); error("end of " .. i) end)
  while coroutine.resume(co) do end
end
print(sum, #text)
