-- SPDX-License-Identifier: MIT
-- C and Lua functions that call each other, and the kernel. Works for a given CPU time.
--   mixed.lua SECONDS
local clock, till = os.clock, os.clock() + tonumber(arg[1])
local zero = assert(io.open("/dev/zero"))

local function compare(a, b)
  local x = 0
  for i = 1, 200 do x = x + i % 3 end
  return a < b and x > 0
end

local function sorting()
  local t = {}
  for i = 1, 60 do t[i] = i * 7919 % 101 end
  table.sort(t, compare)
  return 1
end

local function reading()
  for _ = 1, 4 do zero:read(1048576) end
  return 2
end

repeat sorting(); reading() until clock() >= till
