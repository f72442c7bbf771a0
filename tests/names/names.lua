-- SPDX-License-Identifier: MIT
-- Functions whose first call gives their name, or must not give a wrong one.
local function leaf() return 1 end -- line 3: leaf, by a tail call
local function outer() return leaf() end -- line 4: outer, by a call
outer()

local object = {} -- line 7: advance, a method that is first called by a tail call
function object:advance() return self end
function object.new() return object:advance() end -- line 9: new
object.new()

local callme = setmetatable({}, {__call = function() return 2 end}) -- line 12: __call
local function through() return callme() end -- line 13: through
through()

local function vararg(...) return (select("#", ...)) end -- line 16: vararg
local function spread(...) return vararg(...) end -- line 17: spread, itself vararg
spread(1, 2, 3)

local function pick() -- line 20: pick
  return (function() return 3 end)() -- line 21: has no name
end
pick()

for _ = 1, 300 do outer(); object.new(); through(); spread(1); pick() end
