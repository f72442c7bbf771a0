-- SPDX-License-Identifier: MIT
-- Errors inside metamethods, caught outside of the operation.
local function index(t, k) --:index
  if k % 3 == 0 then error("no field " .. k, 0) end
  return k
end
local t = setmetatable({}, { __index = index })
local function get(k) --:get
  local v = t[k]
  return v + 1
end
local sum = 0
for i = 1, 150 do
  local ok, v = pcall(get, i)
  sum = sum + (ok and v or 1)
end
print(sum)
