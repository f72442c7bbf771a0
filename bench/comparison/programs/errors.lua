-- SPDX-License-Identifier: MIT
-- 200 errors, each through 5 calls of throws; 200 of catches; then after works.
local function throws(depth)
  if depth == 1 then error("on purpose", 0) end
  throws(depth - 1)
end
local function catches()
  local ok = pcall(throws, 5)
  return ok
end
local function after()
  local sum = 0
  for i = 1, 20000000 do sum = sum + i % 7 end
  return sum
end
return function()
  for _ = 1, 200 do catches() end
  after()
end
