-- SPDX-License-Identifier: MIT
-- Errors thrown through many calls, of Lua and of C, caught at different heights, in handlers, too.
local function throw(n) if n == 0 then error("thrown", 0) end return (throw(n - 1)) end
local function index(t) return t.x.y end
local function through_c(n) return calls_back(function() return throw(n) end) end
local function sorter(a, b) if a == 7 or b == 7 then error("seven") end return a < b end
local function handler(e) return #tostring(e) end
local n = 0
for i = 1, 400 do
  if not pcall(throw, i % 13) then n = n + 1 end
  if not pcall(index, i) then n = n + 1 end
  if not pcall(through_c, i % 5) then n = n + 1 end
  if not xpcall(function() return throw(3) end, handler) then n = n + 1 end
  if not pcall(table.sort, {3, 7, 1, 2}, sorter) then n = n + 1 end
  pcall(pcall, pcall, throw, 1)
end
io.write(n, "\n")
