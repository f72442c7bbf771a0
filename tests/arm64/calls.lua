-- SPDX-License-Identifier: MIT
-- A given number of calls of a Lua function, in a loop.
local function add(a, b) return a + b end
local function loop(n) local s = 0 for i = 1, n do s = add(s, 1) end return s end
loop(tonumber(arg[1]))
