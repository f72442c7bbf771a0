-- SPDX-License-Identifier: MIT
-- pcall of things that are not Lua functions.
local function f(...) return select("#", ...) end --:f
local function fails() error() end --:fails
local callable = setmetatable({}, { __call = function(self, x) --:call
  return x
end })
for i = 1, 60 do
  assert(pcall(pcall, f, 1))
  assert(not pcall(error, "x"))
  assert(not pcall(nil))
  assert(pcall(callable, 3))
  assert(not pcall(pcall))
  assert(select(2, pcall(pcall, fails)) == false)
  assert(pcall(math.floor, 1.5))
  assert(not pcall(math.floor, "x"))
end
print("ok")
