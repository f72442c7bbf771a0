-- SPDX-License-Identifier: MIT
-- Long argument lists: frames of hundreds of slots, and the stack grows inside a vararg call.
local function count(...) return select("#", ...) end --:count
local function nest(n, ...) --:nest
  if n == 0 then return count(...) end
  local r = nest(n - 1, n, ...)
  return r
end
local t = {}
for i = 1, 200 do t[i] = i end
local sum = 0
for i = 1, 60 do sum = sum + count(unpack(t, 1, i * 3)) end
for i = 1, 8 do sum = sum + nest(i * 5, unpack(t)) end
print(sum)
