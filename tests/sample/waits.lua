-- SPDX-License-Identifier: MIT
-- Two functions that wait for known shares of the time, and one that only works. Prints the seconds
-- that each one took.
--   waits.lua SECONDS plain|coroutines
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned);")
local seconds, mode = tonumber(arg[1]), arg[2]
local used = { long = 0, short = 0, busy = 0 }

local function now()
  local t = ffi.new("int64_t[2]")
  ffi.C.clock_gettime(1, t)
  return tonumber(t[0]) + tonumber(t[1]) / 1e9
end
ffi.cdef("int clock_gettime(int, int64_t *);")

local function long(us) ffi.C.usleep(us); return 1 end
local function short(us) ffi.C.usleep(us); return 2 end
local function busy(us)
  local till, sum = now() + us / 1e6, 0
  repeat
    for i = 1, 3000 do sum = sum + i % 7 end
  until now() >= till
  return sum
end

local function timed(name, fn, us)
  local before = now()
  if mode == "plain" then
    fn(us)
  else
    local co = coroutine.wrap(function()
      fn(us / 2)
      coroutine.yield()
      fn(us / 2)
      return true
    end)
    repeat until co()
  end
  used[name] = used[name] + now() - before
end

-- Waits that are shorter and longer than the period of 499 Hz.
local from, i = now(), 0
while now() - from < seconds do
  i = i + 1
  local us = 300 + i * 7 % 11 * 500
  timed("long", long, 3 * us)
  timed("short", short, us)
  timed("busy", busy, us / 2)
end
print(string.format("long %.6f short %.6f busy %.6f", used.long, used.short, used.busy))
