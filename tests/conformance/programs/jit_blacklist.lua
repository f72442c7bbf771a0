-- SPDX-License-Identifier: MIT
-- Loops that the compiler gives up on: closures are made in them.
local function run(f, x) return f(x) end --:run
local function make(i) --:make
  return function(x) return x + i end --:made
end
local sum = 0
for i = 1, 300 do
  sum = sum + run(make(i), 1)
  sum = sum + run(function(x) return x end, i) --:inline
end
print(sum)
