-- SPDX-License-Identifier: MIT
-- For times.sh: returns work that calls a function of one instruction and a function of a few hundred,
-- 20,000 times each.
local function dense(x) return x + 1 end
local sparse = assert(loadstring("local x = ... " .. ("x = (x * 3 + 1) % 1021 "):rep(100) .. "return x", "=sparse"))

return function()
  local n = 0
  for _ = 1, 20000 do n = dense(n) end
  for i = 1, 20000 do n = n + sparse(i) end
end
