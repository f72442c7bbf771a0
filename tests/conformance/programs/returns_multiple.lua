-- SPDX-License-Identifier: MIT
-- Many results, adjusted, dropped and passed on.
local function three() return 1, 2, 3 end --:three
local function pass() return three() end --:pass
local function more(n) --:more
  if n == 0 then return end
  return n, more(n - 1)
end
local function sum(...) --:sum
  local s = 0
  for _, v in ipairs({ ... }) do s = s + v end
  return s
end
local total = 0
for i = 1, 70 do
  local a, b = three()
  local c, d, e, f = pass()
  three()
  total = total + a + b + c + d + e + (f or 0) + sum(three(), pass()) + sum(more(5))
end
print(total)
