-- SPDX-License-Identifier: MIT
-- A hot loop with branches that depend on data, each with a call of its own.
local seed = 1
local function random(n) --:random
  seed = seed * 16807 % 2147483647
  return seed % n
end
local function a(x) return x + 1 end --:a
local function b(x) --:b
  if x % 2 == 0 then return a(x) end
  return x
end
local function c(x) --:c
  local s = 0
  for i = 1, x % 4 do s = s + a(i) end
  return s
end
local sum = 0
for i = 1, 400 do
  local k = i % 7
  if k == 0 then sum = sum + a(i)
  elseif k < 3 then sum = sum + b(i)
  elseif i % 5 == 0 then sum = sum + c(i)
  else sum = sum + random(10) end
end
print(sum)
