-- SPDX-License-Identifier: MIT
-- Event cost: a loop that calls one method; compiled, only its events are left.
-- bench: size=2000000 small=2000
local n = tonumber((...)) or 2000000

local Counter = {}
Counter.__index = Counter
function Counter:add(k) self.total = self.total + k end

local counter = setmetatable({total = 0}, Counter)
for i = 1, n do counter:add(i) end
print(counter.total)
