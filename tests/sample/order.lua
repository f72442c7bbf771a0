-- SPDX-License-Identifier: MIT
-- C code that enters Lua and returns again and again, and errors through coroutines.
--   order.lua sort|gsub|callback|resume|wrap SECONDS
local ffi = require("ffi")
ffi.cdef [[ void qsort(void *, size_t, size_t, int (*)(const int *, const int *)); ]]
local array = ffi.new("int[64]")
local compare = ffi.cast("int (*)(const int *, const int *)", function(a, b) return a[0] - b[0] end)
local function less(a, b) return a < b end
local function job() error("x") end

local work = {
  sort = function()
    local t = {}
    for i = 1, 300 do t[i] = i * 7919 % 1009 end
    table.sort(t, less)
  end,
  gsub = function() return (("abcdefghijklmnopqrstuvwxyz"):gsub(".", function() return nil end)) end,
  callback = function()
    for i = 0, 63 do array[i] = i * 37 % 64 end
    ffi.C.qsort(array, 64, 4, compare)
  end,
  resume = function() return coroutine.resume(coroutine.create(job)) end,
  wrap = function() return pcall(coroutine.wrap(job)) end,
}
local run, till = work[arg[1]], os.clock() + tonumber(arg[2])
while os.clock() < till do run() end
