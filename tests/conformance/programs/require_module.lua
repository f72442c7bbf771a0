-- SPDX-License-Identifier: MIT
-- A module: its chunk is a function of its own, called once, from inside require.
package.path = arg[0]:gsub("[^/]*$", "") .. "modules/?.lua"
local m = require("lib_module")
m = require("lib_module")
local sum = 0
for i = 1, 100 do sum = sum + m.twice(i) end
print(sum)
