-- SPDX-License-Identifier: MIT
-- Tail calls to assembler fast functions, which have no events: the caller ends, nothing begins.
local mt = {}
local function make(x) --:make
  return setmetatable({ x = x }, mt)
end
local function round(x) return math.floor(x) end --:round
local function str(x) return tostring(x) end --:str
local function count(...) return select("#", ...) end --:count
local sum = 0
for i = 1, 120 do
  local o = make(i)
  sum = sum + o.x + round(i + 0.5) + #str(i) + count(i, i)
end
print(sum)
