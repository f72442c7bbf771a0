-- SPDX-License-Identifier: MIT
-- An error passes through five wraps.
local function nest(n) --:nest
  if n == 0 then error("deep", 0) end
  local inner = coroutine.wrap(nest)
  local v = inner(n - 1)
  return v
end
local caught = 0
for i = 1, 40 do
  local ok, e = pcall(coroutine.wrap(nest), 4)
  if not ok and e:find("deep") then caught = caught + 1 end
end
print(caught)
