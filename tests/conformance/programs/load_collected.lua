-- SPDX-License-Identifier: MIT
-- Functions compiled, run hot, dropped and collected: their ids are not used again.
local sum = 0
for i = 1, 25 do
  local f = assert(loadstring(
    "local function add(a)\n  return a + " .. i .. "\nend\n"
      .. "local s = 0\nfor i = 1, 70 do s = s + add(i) end\nreturn s", "=made" .. i % 3))
  sum = sum + f()
  f = nil
  if i % 5 == 0 then collectgarbage() end
end
print(sum)
