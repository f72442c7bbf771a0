-- SPDX-License-Identifier: MIT
-- Handlers of VM events that do what a handler can: resume coroutines, run compiled code, fail,
-- yield, flush, compile. A coroutine must continue where it was, and the program must not notice.
local kinds = {"bc", "trace", "record", "texit", "errfin"}
local turns, steps, failures = 0, 0, 0

local function leaf(x) return x end
local function step(x) steps = steps + 1 return leaf(x) end
local function body() local at = 0 while true do at = at + step(1) coroutine.yield(at) end end
local co = coroutine.create(body)
local short = {}

local function sum(t) local s = 0 for _, v in pairs(t) do s = s + leaf(v) end return s end
local numbers = {1, 2, 3, a = 4, b = 5}
local function count(n) local s = 0 for i = 1, n do s = s + leaf(i) end return s end
local function down(n) if n == 0 then return 0 end return 1 + down(n - 1) end

local function resume()
  if coroutine.status(co) ~= "suspended" then return end
  turns = turns + 1
  local good, at = coroutine.resume(co)
  if not good or at ~= turns then failures = failures + 1 end
end

local acts = {
  resume,
  function() if sum(numbers) ~= 15 or count(30) ~= 465 or down(20) ~= 20 then failures = failures + 1 end end,
  function()  -- one that lives and dies in handlers
    short[1] = short[1] or coroutine.wrap(function() step(0) coroutine.yield() leaf(1) error("end") end)
    if not pcall(short[1]) then short[1] = nil end
  end,
  function() if pcall(coroutine.yield) then failures = failures + 1 end end,
  function() local f = loadstring("local function g(x) return x end return g(7)") if f() ~= 7 then failures = failures + 1 end end,
  function() if select("#", pcall(error, "x")) ~= 2 then failures = failures + 1 end collectgarbage("step") end,
}
local nth, busy = 0, false
local function handler()
  if busy then return end  -- after an attach in a handler, other handlers can run in it
  busy = true
  nth = nth + 1
  resume()
  acts[nth % #acts + 1]()
  busy = false
end
for _, kind in ipairs(kinds) do jit.attach(handler, kind) end

local function f(x) return leaf(x) + 1 end
local s = 0
for round = 1, 12 do
  for i = 1, 60 do s = f(s) end
  s = s + sum(numbers) - 15 + count(40) - 820 + down(30) - 30
  resume()
  pcall(f, {})
  loadstring("return " .. round)()
  if round % 4 == 0 then jit.flush() end
  setmetatable(newproxy and {} or {}, {__gc = function() leaf(1) end})
  collectgarbage()
end
jit.attach(handler)
resume()
print(s, steps >= turns, failures)
