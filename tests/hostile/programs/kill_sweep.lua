-- SPDX-License-Identifier: MIT
-- kill_sweep.lua calls|slowly|loop FILE: does the same work again and again and compares what comes out with the first
-- time. FILE, 24 bytes, is mapped: how often it was done, how often something else came out, and whether it shall end.
-- calls: code of every kind, then a nap; slowly: a longer one. loop: interpreted, without calls and allocations, so that only what goes
-- through the dispatch table is seen.
local ffi = require("ffi")
ffi.cdef [[
int open(const char *, int, ...);
void *mmap(void *, size_t, int, int, int, long);
int close(int);
int usleep(unsigned);
]]
local kind, name = arg[1], arg[2]
local fd = ffi.C.open(name, 2)
assert(fd >= 0, name)
local told = ffi.cast("volatile double *", ffi.C.mmap(nil, 24, 3, 1, fd, 0))
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
while told[2] == 0 do
  if work() ~= wanted then told[1] = told[1] + 1 end
  told[0] = told[0] + 1
  if nap then ffi.C.usleep(nap) end
end
