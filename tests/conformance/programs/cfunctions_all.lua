-- SPDX-License-Identifier: MIT
-- The same under the class all: recorded ones appear, assembler ones do not.
local t = { 3, 1, 2 }
local n = 0
for i = 1, 80 do
  n = n + #tostring(i)
  n = n + math.floor(i / 2) + math.max(i, 3)
  n = n + select("#", 1, 2)
  n = n + #table.concat({ "a", "b" })
  n = n + (rawequal(t, t) and 1 or 0)
  n = n + (string.find("abc", "c", 1, true))
  n = n + #string.match("abc", "b")
  n = n + select("#", unpack(t))
  n = n + (os.time() > 0 and 1 or 0)
  n = n + table.maxn(t)
end
io.write(n, "\n")
