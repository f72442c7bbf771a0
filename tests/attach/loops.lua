-- SPDX-License-Identifier: MIT
-- For times.sh: a loop without calls, between calls. Only times tell how long it runs.
local n = 0
local function leaf(x) n = n + x end
local function few(times)
  for _ = 1, times do leaf(1) end
end
local function quiet(times)
  local x = 1
  for i = 1, times do x = x * 1.0000001 + i end
  return x
end
local sum = 0
for _ = 1, 5000 do
  few(100)
  sum = sum + quiet(5000)
end
assert(n == 500000 and sum > 0)
