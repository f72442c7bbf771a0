-- SPDX-License-Identifier: MIT
-- Functions that went through string.dump, with and without debug information.
local function f(x) --:f
  local function g(y) --:g
    return y + 1
  end
  return g(x) * 2
end
local copy = assert(loadstring(string.dump(f)))
local sum = 0
for i = 1, 80 do sum = sum + f(i) + copy(i) end
print(sum)
