-- SPDX-License-Identifier: MIT
-- Code without names and lines, as after luajit -b; much of it is loaded and collected.
local source = [[
local function alpha(x) return x + 1 end
local function beta(x) local s = 0 for i = 1, 40 do s = s + alpha(i) end return s + x end
local function gamma(x) return coroutine.wrap(function(y) return beta(y) + beta(y) end)(x) end
local function delta(x) if x == 0 then error("x", 0) end return delta(x - 1) end
assert(not pcall(delta, 3))
return gamma(...)]]
local code = string.dump(assert(loadstring(source)), true)
local sum = 0
for round = 1, 1500 do
  local f = assert(loadstring(code, "=stripped" .. round % 3))
  sum = sum + f(round)
  if round % 300 == 0 then collectgarbage() end
end
print(sum)
