-- SPDX-License-Identifier: MIT
-- Lua functions called back by a C function inside a stitched loop.
local function double(s) --:double
  return s .. s
end
local function compare(a, b) --:compare
  return a < b
end
local function work(i) --:work
  local s = ("a" .. i):gsub("a", double)
  local t = { 2, 1 }
  table.sort(t, compare)
  return #s + t[1]
end
local sum = 0
for i = 1, 200 do sum = sum + work(i) end
print(sum)
