-- SPDX-License-Identifier: MIT
-- Event cost: a loop that calls a function while eight floating point values
-- live in registers; an event that clobbers them shows here.
-- bench: size=2000000 small=2000
local n = tonumber((...)) or 2000000

local function mix(a, b) return a * 0.75 + b * 0.25 end

local a, b, c, d, e, f, g, h = 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5
for _ = 1, n do
  local t = mix(a, h)
  a, b, c, d = b + 0.125, c * 0.5 + a * 0.25, d - 0.0625, e * 0.5
  e, f, g, h = f + 0.25, g * 0.75, h - 0.5, t
end
print(string.format("%.6f", a + b + c + d + e + f + g + h))
