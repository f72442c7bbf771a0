-- SPDX-License-Identifier: MIT
limit = 3
local rate = 0.5
local function price(item)
  local base = item.cost
  if base > limit then
    base = base * rate
  end
  return base
end
local sum = 0
for cost = 1, 10 do
  sum = sum + price({ cost = cost })
end
print(sum)
