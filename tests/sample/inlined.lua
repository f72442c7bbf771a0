-- SPDX-License-Identifier: MIT
-- Functions that a compiled loop inlines, and in which no guard is between their call and what takes the time.
--   inlined.lua MODE SECONDS
local ffi = require "ffi"
ffi.cdef "void *memset(void *, int, size_t); int abs(int);"
local C, rep, sub = ffi.C, string.rep, string.sub
local size, text = 200000, ("text"):rep(5000)
local bytes = ffi.new("char[?]", size)

local function set() C.memset(bytes, 0, size) end
local function id() return C.abs(-1) end
local function fill() id() C.memset(bytes, 0, size) end -- not id's time
local function tail() return C.memset(bytes, 0, size) end
local function pad(i) local s = rep(text, i) return s end
local function join(i) return text .. i end
local function cut(i) local s = sub(text, i) return s end
local function new() return { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } end
local function power(i) return i ^ 2.37 end
local function divide(i) return i / 7LL end
local kept

local loops = {
  loop_set = function() for _ = 1, 100 do set() end end,
  loop_fill = function() for _ = 1, 100 do fill() end end,
  loop_tail = function() for _ = 1, 100 do tail() end end,
  loop_pad = function() for i = 1, 100 do kept = pad(i % 4 + 1) end end,
  loop_join = function() for i = 1, 100 do kept = join(i) end end,
  loop_cut = function() for i = 1, 100 do kept = cut(i) end end,
  loop_power = function() local x = 0 for i = 1, 10000 do x = x + power(i) end kept = x end,
  loop_divide = function() local x = 0LL for i = 1, 10000 do x = x + divide(x + 5LL) end kept = x end,
  loop_new = function() for _ = 1, 10000 do kept = new() end end,
}
local loop, stop = loops["loop_" .. arg[1]], os.clock() + tonumber(arg[2])
while os.clock() < stop do loop() end
