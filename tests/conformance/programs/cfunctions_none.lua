-- SPDX-License-Identifier: MIT
-- With the class none only Lua functions have events.
local function less(a, b) return a < b end --:less
local function sort() --:sort
  local t = { 2, 1 }
  table.sort(t, less)
  return string.gsub("a", "a", "b")
end
for i = 1, 90 do sort() end
print("ok")
