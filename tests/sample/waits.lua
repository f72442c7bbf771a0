-- SPDX-License-Identifier: MIT
-- Two functions that wait for known shares of the time, and one that only works. Prints the seconds
-- that each one took, and the variances of their estimates if a wait that is shorter than the period
-- of the samples is taken with the probability of its part of it.
--   waits.lua SECONDS plain|coroutines HZ
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned); int clock_gettime(int, int64_t *);")
local seconds, mode, period = tonumber(arg[1]), arg[2], 1 / tonumber(arg[3])
local used, variance = { long = 0, short = 0, busy = 0 }, { long = 0, short = 0, busy = 0 }
local limit = { us = 1000000 }

local time = ffi.new("int64_t[2]")
local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

-- The comparisons leave compiled code a place at which these functions are known to run.
local function long(us)
  if us > limit.us then return 0 end
  ffi.C.usleep(us)
  return 1
end

local function short(us)
  if us > limit.us then return 0 end
  ffi.C.usleep(us)
  return 2
end

local function busy(us)
  local till, sum = now() + us / 1e6, 0
  repeat
    for i = 1, 3000 do sum = sum + i % 7 end
  until now() >= till
  return sum
end

local function timed(name, fn, us)
  local before = now()
  fn(us)
  local took = now() - before
  used[name] = used[name] + took
  if took < period then variance[name] = variance[name] + took * (period - took) end
end

local function run(name, fn, us)
  if mode == "plain" then return timed(name, fn, us) end
  local co = coroutine.wrap(function()
    timed(name, fn, us / 2)
    coroutine.yield()
    timed(name, fn, us / 2)
    return true
  end)
  repeat until co()
end

local from, i = now(), 0
while now() - from < seconds do
  i = i + 1
  local us = 300 + i * 7 % 11 * 500
  run("long", long, 3 * us)
  run("short", short, us)
  run("busy", busy, us / 2)
end
print(string.format("%.9f %.9f %.12f %.12f", used.long, used.short, variance.long, variance.short))
