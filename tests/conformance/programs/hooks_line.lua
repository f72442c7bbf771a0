-- SPDX-License-Identifier: MIT
-- A line hook that calls a function. How often is not part of the contract.
local n = 0
local function note() n = n + 1 end --:note
local function hook() note() end --:hook
local function f(x) --:f
  local y = x + 1
  return y
end
local function g(x) --:g
  local y = f(x)
  return y + f(y)
end
debug.sethook(hook, "l")
local r = g(1)
debug.sethook()
print(r + g(2))
