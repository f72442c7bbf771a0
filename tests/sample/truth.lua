-- SPDX-License-Identifier: MIT
-- Two functions that use known shares of the CPU time, with the same C stack and different Lua
-- stacks. Prints their CPU times and that of the whole run.
--   truth.lua SECONDS plain|coroutines
local seconds, mode = tonumber(arg[1]), arg[2]
local clock, sum, used = os.clock, 0, { heavy = 0, light = 0 }

local function spin(time)
  local till = clock() + time
  repeat
    for i = 1, 3000 do sum = sum + i % 7 end
  until clock() >= till
end

local function heavy(time) spin(time); return 1 end
local function light(time) spin(time); return 2 end

-- Stretches of different lengths, so that no period of samples has the same one.
local function run(step)
  local from, i = clock(), 0
  while clock() - from < seconds do
    i = i + 1
    local name, time = "light", 0.002 + i * 7 % 11 * 0.0007
    if i % 2 == 0 then name, time = "heavy", 3 * time end
    local before = clock()
    step(name, time)
    used[name] = used[name] + clock() - before
  end
  print(string.format("heavy %.6f light %.6f", used.heavy, used.light))
end

local function plain(name, time)
  if name == "heavy" then heavy(time) else light(time) end
end

-- Each one begins, yields in the middle, and ends.
local function coroutines(name, time)
  local fn = name == "heavy" and heavy or light
  local co = coroutine.wrap(function()
    fn(time / 2)
    coroutine.yield()
    fn(time / 2)
    return true
  end)
  repeat until co()
end

run(mode == "plain" and plain or coroutines)
