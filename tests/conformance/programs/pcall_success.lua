-- SPDX-License-Identifier: MIT
-- pcall in a hot loop, nothing fails.
local function add(a, b) return a + b end --:add
local function work(n) --:work
  local ok, v = pcall(add, n, 1)
  return v
end
local sum = 0
for i = 1, 200 do
  local ok, v = pcall(work, i)
  sum = sum + v
end
print(sum)
