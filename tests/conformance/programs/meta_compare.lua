-- SPDX-License-Identifier: MIT
-- __eq, __lt, __le, and __lt standing in for __le.
local mt = {
  __eq = function(a, b) return a.v == b.v end, --:eq
  __lt = function(a, b) return a.v < b.v end, --:lt
  __le = function(a, b) return a.v <= b.v end, --:le
}
local half = { __lt = function(a, b) return a.v < b.v end } --:half
local function new(v, m) return setmetatable({ v = v }, m) end --:new
local n = 0
for i = 1, 100 do
  local a, b = new(i, mt), new(50, mt)
  if a == b then n = n + 1 end
  if a ~= b then n = n + 1 end
  if a < b then n = n + 1 end
  if a > b then n = n + 1 end
  if a <= b then n = n + 1 end
  if a >= b then n = n + 1 end
  local c, d = new(i, half), new(50, half)
  if c <= d then n = n + 1 end
  if c >= d then n = n + 1 end
end
print(n)
