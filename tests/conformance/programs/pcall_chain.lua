-- SPDX-License-Identifier: MIT
-- Sixty pcalls inside each other, the innermost fails.
local function chain(n) --:chain
  if n == 0 then error({ code = 7 }) end
  local ok, e = pcall(chain, n - 1)
  if n % 20 == 0 then error(e) end
  return ok
end
local out = {}
for i = 55, 60 do
  local ok, e = pcall(chain, i)
  out[#out + 1] = tostring(ok) .. " " .. type(e)
end
print(table.concat(out, " "))
