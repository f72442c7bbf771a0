-- SPDX-License-Identifier: MIT
-- Escape times over a grid: nested compiled loops of pure floating point.
-- bench: size=400 small=24
local n = tonumber((...)) or 400

local function escape(cr, ci)
  local zr, zi = 0, 0
  for k = 1, 50 do
    local r2, i2 = zr * zr, zi * zi
    if r2 + i2 > 4 then return k end
    zr, zi = r2 - i2 + cr, 2 * zr * zi + ci
  end
  return 0
end

local inside, total = 0, 0
for y = 0, n - 1 do
  local ci = 2 * y / n - 1
  for x = 0, n - 1 do
    local k = escape(2 * x / n - 1.5, ci)
    if k == 0 then inside = inside + 1 else total = total + k end
  end
end
print(inside, total)
