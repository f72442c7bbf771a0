-- SPDX-License-Identifier: MIT
-- A profiler's callback runs like a handler of VM events: it resumes a coroutine and runs compiled
-- code.
local profile = require("jit.profile")
local calls, failures, turns = 0, 0, 0
local function leaf(x) return x end
local function loop(n) local s = 0 for i = 1, n do s = s + leaf(i) end return s end
local function all(t) local s = 0 for _, v in pairs(t) do s = s + leaf(v) end return s end
local numbers = {1, 2, 3, a = 4, b = 5}
local co = coroutine.wrap(function() local at = 0 while true do at = at + leaf(1) coroutine.yield(at) end end)
local function callback()
  calls, turns = calls + 1, turns + 1
  if co() ~= turns or loop(50) ~= 1275 or all(numbers) ~= 15 then failures = failures + 1 end
end
profile.start("li1", callback)
local s, rounds = 0, 0
local function work(x) return leaf(x) + 1 end
repeat  -- the timer is of processor time
  for i = 1, 20 do s = work(s) end
  for i = 1, 20000 do s = s + i % 2 - 0.5 end
  s = s + loop(100) - 5050 + all(numbers) - 15
  rounds = rounds + 1
until calls >= 15 or rounds == 1000000
profile.stop()
turns = turns + 1
print(s == 20 * rounds, calls >= 15, failures, co() == turns)
