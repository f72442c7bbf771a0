-- SPDX-License-Identifier: MIT
-- A million calls (and the main chunk's), whose results depend on every live value: floating-point
-- and integer values, arguments, varargs. Prints a checksum.
local function f(a, b, x) return a * 3 + b + x * 0.5 end
local function g(x, y, ...) local s = f(x, select("#", ...), y) return s + y end
local sum, fsum, z = 0, 0.25, 1.5
for i = 1, 500000 do
  z = z * 1.0000001
  local r = g(i, z, i, i)
  sum = (sum + i * 7) % 1000003
  fsum = fsum + r % 13
end
print(sum, string.format("%.17g %.17g", fsum, z))
