-- SPDX-License-Identifier: MIT
-- many.lua N [FILE]: N calls, and two for this file and many itself. Makes FILE at
-- the end.
local function one(x) return x end
local function many(n) for i = 1, n do one(i) end end
many(tonumber(arg and arg[1] or 1000))
if arg and arg[2] then io.open(arg[2], "w"):close() end
