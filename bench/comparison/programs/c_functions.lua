-- SPDX-License-Identifier: MIT
-- C functions, and Lua functions that they call: 300 calls of string.rep, 100 of table.sort with a compare
-- function of one call each, 100 of string.gsub with 5 of replace each.
local rep, sort, gsub = string.rep, table.sort, string.gsub
local function compare(a, b) return a < b end
local function replace(c) return c end
local function before()
  for _ = 1, 3 do rep("x", 100) end
end
local function sorts()
  sort({ 1, 2 }, compare)
  return nil
end
local function replaces()
  gsub("abcde", ".", replace)
  return nil
end
return function()
  for _ = 1, 100 do
    before()
    sorts()
    replaces()
  end
end
