-- SPDX-License-Identifier: MIT
-- errs.lua N: N errors in a row, each of which ends three calls.
local n = tonumber(arg[1])
local function fail(i) error("planned " .. i) end
local function deep(i) fail(i) end
for i = 1, n do pcall(deep, i) end
