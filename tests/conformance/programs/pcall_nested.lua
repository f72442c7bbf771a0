-- SPDX-License-Identifier: MIT
-- A pcall at each level; errors are caught halfway up and thrown again.
local function inner(n) --:inner
  if n % 2 == 1 then error("odd", 0) end
  return n
end
local function rethrow(n) --:rethrow
  local ok, e = pcall(inner, n)
  if not ok and n % 3 == 0 then error(e, 0) end
  return ok and 1 or 0
end
local function guard(n) --:guard
  local ok, v = pcall(rethrow, n)
  return ok and v or 5
end
local sum = 0
for i = 1, 150 do sum = sum + guard(i) end
print(sum)
