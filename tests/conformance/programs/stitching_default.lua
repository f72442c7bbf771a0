-- SPDX-License-Identifier: MIT
-- The same with the C functions in the events.
local function before(i) return i + 1 end --:before
local function after(s) return #s end --:after
local function middle(i) --:middle
  local s = string.rep("x", i % 5):gsub("x", "yz")
  return after(s)
end
local sum = 0
for i = 1, 200 do
  local x = before(i)
  local m = ("k" .. x):match("%d+")
  sum = sum + middle(i) + #m + table.maxn({ 1, 2, i })
end
io.write(sum, "\n")
