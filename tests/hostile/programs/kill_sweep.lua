-- SPDX-License-Identifier: MIT
-- kill_sweep.lua calls|slowly|loop FILE: does the same work again and again and compares the result with the first
-- one. FILE is mapped; it has four doubles: how often the work was done, how often the result differed, whether to end,
-- and the pid of the test, with which a program that sleeps ends: as a command it may have lost its recorder.
-- calls: code of every kind, then 1 ms of sleep; slowly: 10 ms. loop: interpreted, without calls and allocations, so
-- that only redirected dispatch slots can make it poll.
local ffi = require("ffi")
ffi.cdef [[
int open(const char *, int, ...);
void *mmap(void *, size_t, int, int, int, long);
int close(int);
int usleep(unsigned);
int kill(int, int);
]]
local kind, name = arg[1], arg[2]
local fd = ffi.C.open(name, 2)
assert(fd >= 0, name)
local progress = ffi.cast("volatile double *", ffi.C.mmap(nil, 32, 3, 1, fd, 0))
ffi.C.close(fd)

local function leaf(x) return x + 1 end
local function tail(x) return leaf(x) end
local function interpreted(x) return tail(x) + 1 end
jit.off(interpreted)
local function fails(x) return leaf(x) .. nil end
local function calls()
  local n = 0
  for i = 1, 300 do n = n + leaf(i) % 7 end
  for i = 1, 30 do n = n + interpreted(i) end
  local co = coroutine.wrap(function(a) for i = 1, 5 do a = coroutine.yield(tail(a)) end return a end)
  for i = 1, 6 do n = n + co(i) end
  for _ = 1, 3 do n = n + (pcall(fails, 1) and 1 or 2) end
  local t = {}
  for i = 1, 40 do t[i] = i * 7919 % 41 end
  table.sort(t, function(a, b) return a > b end)
  local s = string.gsub(table.concat(t, " "), "%d+", function(w) return leaf(tonumber(w)) end)
  return n .. s
end
local function loop()
  local n = 0
  for i = 1, 300000 do n = (n + i) % 1000003 end
  return n
end
jit.off(loop)

local work = kind == "loop" and loop or calls
local nap = ({calls = 1000, slowly = 10000})[kind]
local wanted = work()
while progress[2] == 0 do
  if work() ~= wanted then progress[1] = progress[1] + 1 end
  progress[0] = progress[0] + 1
  if nap then
    if ffi.C.kill(progress[3], 0) ~= 0 then break end
    ffi.C.usleep(nap)
  end
end
