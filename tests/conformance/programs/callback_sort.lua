-- SPDX-License-Identifier: MIT
-- table.sort with a comparator: two elements need one call, three need two or three.
local function less(a, b) --:less
  return a < b
end
local function sort2(a, b) --:sort2
  local t = { a, b }
  table.sort(t, less)
  return t[1]
end
local function sort3(a, b, c) --:sort3
  local t = { a, b, c }
  table.sort(t, less)
  return t[1]
end
local sum = 0
for i = 1, 60 do
  sum = sum + sort2(1, i) + sort3(3, 2, 1) + sort3(1, 2, 3)
end
io.write(sum, "\n")
