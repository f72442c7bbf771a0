-- SPDX-License-Identifier: MIT
-- assert passes values on and throws.
local function check(v) --:check
  return (assert(v, "no"))
end
local function tail(v) return assert(v) end --:tail
local good, bad = 0, 0
for i = 1, 120 do
  if pcall(check, i % 4 ~= 0) then good = good + 1 else bad = bad + 1 end
  if pcall(tail, i % 5 ~= 0) then good = good + 1 else bad = bad + 1 end
end
print(good, bad)
