-- SPDX-License-Identifier: MIT
local function work(n)
  local sum = 0
  for i = 1, n do
    local square = i * i
    sum = sum + square
  end
  return sum
end

local function unused()
  return 1
end

local co = coroutine.wrap(function()
  for i = 1, 50 do
    local twice = 2 * i
    coroutine.yield(twice)
  end
end)

local total = 0
for i = 1, 300 do
  total = total + work(20)
end
for i = 1, 50 do
  total = total + co()
end
print(total)
