-- SPDX-License-Identifier: MIT
-- Library functions of every sort under the class default.
local t = { 3, 1, 2 }
local n = 0
for i = 1, 80 do
  n = n + #tostring(i)                        -- assembler: never
  n = n + math.floor(i / 2) + math.max(i, 3)  -- assembler: never
  n = n + select("#", 1, 2)                   -- recorded: only in all
  n = n + #table.concat({ "a", "b" })         -- recorded: only in all
  n = n + (rawequal(t, t) and 1 or 0)         -- recorded: only in all
  n = n + (string.find("abc", "c", 1, true))  -- recorded: only in all
  n = n + #string.match("abc", "b")
  n = n + #os.date("%H")
  n = n + (os.time() > 0 and 1 or 0)
  n = n + table.maxn(t)
end
io.write(n, "\n")
