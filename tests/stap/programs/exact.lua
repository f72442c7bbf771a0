-- SPDX-License-Identifier: MIT
-- A known number of events in a known order (exact.py says which), hot enough to
-- be compiled: inner runs in a compiled loop, tail is tail-called, fail raises an
-- error through two calls, gen yields.
local function inner(x) return x + 1 end
local function work(n)
  local s = 0
  for i = 1, n do s = inner(s) end
  return s
end
local function last(x) return x end
local function tail(x) return last(x) end
local function fail() error("planned", 0) end
local function deep() fail() end
local function gen(n)
  for i = 1, n do coroutine.yield(i) end
  return n
end

work(1000)
for i = 1, 100 do tail(i) end
for i = 1, 10 do pcall(deep) end
local co = coroutine.create(gen)
while coroutine.status(co) ~= "dead" do coroutine.resume(co, 5) end
