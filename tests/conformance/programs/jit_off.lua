-- SPDX-License-Identifier: MIT
-- Functions that must not be compiled, called from compiled code and calling it.
local function cold(x) return x + 1 end --:cold
jit.off(cold)
local function hot(n) --:hot
  local s = 0
  for i = 1, n do s = s + i end
  return s
end
local function mixed(n) --:mixed
  return hot(n) + cold(n)
end
jit.off(mixed)
local sum = 0
for i = 1, 150 do sum = sum + cold(i) + hot(60) + mixed(i % 9) end
print(sum)
